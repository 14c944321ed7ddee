"""The hooks of CausalVQA's tasks: how a question is asked and its answer graded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.api import (
    Row,
    RunningTask,
    choice_grader,
    hook,
)
from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.causalvqa.metadata import SCENARIO
from lmms_eval_tasks.causalvqa.official import official_choice

__all__ = ["process_results"]


def strata(row: Row) -> dict[str, str]:
    """Type and difficulty of a question, and its scenario where the release says it."""
    return {name: row[name] for name in (*CARD.strata_columns, SCENARIO) if row.get(name)}


grade = choice_grader(official_choice, stratum=strata, fields=("version",))


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)
