"""Language models that judge free answers."""

from __future__ import annotations

from lmms_eval_tasks.utils.judge.client import Judge, Verdict, open_named_judge
from lmms_eval_tasks.utils.judge.replies import Case

__all__ = ["Case", "Judge", "Verdict", "open_named_judge"]
