"""Read finished runs, and define the form of their logged lines."""

from __future__ import annotations

from lmms_eval_tasks.runs.dataframes import RunTables, load_runs
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.answers.hooks import Restored
from lmms_eval_tasks.utils.scoring.log_line import ChoiceLine, log_line
from lmms_eval_tasks.utils.scoring.prediction_lines import PredictionLines, QuestionText
from lmms_eval_tasks.utils.scoring.record import LogForm

__all__ = [
    "ChoiceLine",
    "LogForm",
    "PredictionLines",
    "QuestionText",
    "Restored",
    "Run",
    "RunTables",
    "load_runs",
    "log_line",
    "read_run",
]
