"""`shared_prefix`: Hugging Face video-language models that read each clip once for all its questions."""

from lmms_eval_tasks.models.shared_prefix.model import SharedPrefix

__all__ = ["SharedPrefix"]
