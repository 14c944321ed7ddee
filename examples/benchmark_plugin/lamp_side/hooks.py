"""The hooks that the YAML names: how an item is asked and graded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.api import (
    Row,
    RunningTask,
    choice_grader,
    hook,
)

__all__ = ["process_results"]

grade = choice_grader()


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and an entry for each score that it counts in."""
    return task.grade_first(doc, results, grade)
