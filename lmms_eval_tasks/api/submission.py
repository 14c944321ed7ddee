"""Check that a leaderboard's file has a line for each item."""

from __future__ import annotations

from lmms_eval_tasks.utils.submission.form import Attendance

__all__ = ["Attendance"]
