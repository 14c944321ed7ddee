"""What of a row and its task goes into a record beside the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import TaskContext
from lmms_eval_tasks.utils.benchmark.rows import Row
from lmms_eval_tasks.utils.scoring.records import GradedItem

Grade = Callable[[Row, object, TaskContext], GradedItem]
"""What makes of a row, with ``asked``, and a response an item's record; it raises nothing."""
Stratum = Sequence[str] | Callable[[Row], Mapping[str, str]]
"""Columns by which scores are broken down, or names and values from a row."""
Fields = Sequence[str] | Callable[[Row, object, TaskContext], Mapping[str, Any]]
"""Columns that a record repeats among its fields, or names and values from a row, the response and the task."""


def stratum_of(row: Row, stratum: Stratum) -> dict[str, str]:
    """Names and values by which the scores of a row are broken down."""
    return dict(stratum(row)) if callable(stratum) else {name: row[name] for name in stratum}


def fields_of(row: Row, response: object, context: TaskContext, fields: Fields) -> dict[str, Any]:
    """The fields of a record, the last of them how its item was asked."""
    own = fields(row, response, context) if callable(fields) else {name: row[name] for name in fields}
    return {**own, "prompt": context.settings.signature}
