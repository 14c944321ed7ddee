"""`shared_vllm`: lmms-eval's vLLM model with clips as videos, each decoded and named once for all of its questions.

`videos` samples and names clips, and `model` is the registered model.
"""

from lmms_eval_tasks.models.shared_vllm.model import SharedVLLM

__all__ = ["SharedVLLM"]
