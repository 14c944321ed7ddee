"""Finished runs, and the forms of their logged lines."""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.benchmark import RestoredContext
from lmms_eval_tasks.utils.runs.responses import PredictionLines, QuestionText
from lmms_eval_tasks.utils.runs.run import Run, read_run
from lmms_eval_tasks.utils.scoring.log_forms import ChoiceLine, LogForm, log_line

__all__ = [
    "ChoiceLine",
    "LogForm",
    "PredictionLines",
    "QuestionText",
    "RestoredContext",
    "Run",
    "log_line",
    "read_run",
]
