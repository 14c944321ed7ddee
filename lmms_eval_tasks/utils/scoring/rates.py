"""Scores that every task has: how many items could not be read or scored, and whether the data is simulated."""

from __future__ import annotations

from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Record


def percent(flag: bool | None) -> float | None:
    """100 for True, 0 for False, None for None."""
    return None if flag is None else 100.0 * flag


def _unparsed(record: Record) -> float | None:
    return None if record.unanswered else percent(record.answered is None)


def _unscored(record: Record) -> float:
    return 100.0 * (record.correct is None)


UNPARSED_RATE = Metric("unparsed_rate", "unparsed", _unparsed, higher_is_better=False, errors="plain")
"""Percent of the items with a response in which no answer can be read; they count as wrong."""

UNSCORED_RATE = Metric("unscored_rate", "unscored", _unscored, higher_is_better=False, errors="plain")
"""Percent of items that could not be asked or graded."""

SAMPLE_DATA = Metric("sample_data", "sample data", lambda record: 100.0, higher_is_better=None, errors="plain")
"""100 where the data is simulated. Tasks on released data have no such score."""

COMMON_METRICS = (UNPARSED_RATE, UNSCORED_RATE, SAMPLE_DATA)
"""What every task prints: percent of the items asked that are unparsed, percent of all items that are unscored, and 100
as ``sample_data`` where the data is simulated."""
