"""Checking a leaderboard's file, beyond `SubmissionForm`."""

from __future__ import annotations

from lmms_eval_tasks.utils.submission.form import Attendance

__all__ = [
    "Attendance",
]
