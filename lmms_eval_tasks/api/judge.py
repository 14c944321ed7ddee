"""Language models that judge free answers."""

from __future__ import annotations

from lmms_eval_tasks.host.judge import open_named_judge
from lmms_eval_tasks.utils.judge.client import Case, Judge, Verdict

__all__ = [
    "Case",
    "Judge",
    "Verdict",
    "open_named_judge",
]
