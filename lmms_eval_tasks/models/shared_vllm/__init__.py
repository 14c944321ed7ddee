"""`shared_vllm`: lmms-eval's vLLM model with clips as videos, each decoded and named once for all of its questions.

`videos` samples and names clips, and `model` is the registered model. It was run with vLLM 0.32's own processor,
caches, scheduler and engine on a CPU, with random weights: not with real ones, on a GPU or on several ranks.
"""

from lmms_eval_tasks.models.shared_vllm.model import SharedVLLM

__all__ = ["SharedVLLM"]
