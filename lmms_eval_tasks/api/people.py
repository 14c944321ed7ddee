"""Questions for people beyond a choice among options, and the scores of their answers."""

from __future__ import annotations

from lmms_eval_tasks.utils.people.baseline import HumanStudy
from lmms_eval_tasks.utils.people.inquiries import Scale, TimedDescription

__all__ = ["HumanStudy", "Scale", "TimedDescription"]
