"""`shared_prefix`: Hugging Face video-language models that read each clip once for all its questions.

lmms-eval asks question by question, and an adapter pays for the clip each time. Here the questions of a clip are put
together, across the tasks of a run. `models.clip_reading` groups them, `inputs` decodes and processes what they
show, `sharing` answers them and compares that with plain generation, and `model` is the registered model.
"""

from lmms_eval_tasks.models.shared_prefix.model import SharedPrefix

__all__ = ["SharedPrefix"]
