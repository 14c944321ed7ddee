"""What people are asked beyond a choice among options, and what is made of their answers."""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.descriptions import TimedDescription
from lmms_eval_tasks.utils.benchmark.inquiries import Scale
from lmms_eval_tasks.utils.stats.human_study import HumanStudy

__all__ = [
    "HumanStudy",
    "Scale",
    "TimedDescription",
]
