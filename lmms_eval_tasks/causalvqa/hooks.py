"""The hooks of CausalVQA's tasks: how a question is asked and its answer graded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.api import (
    Row,
    RunningTask,
    aggregate,
    choice_grader,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    hook,
    process_docs,
    write_submission,
)
from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.causalvqa.metadata import SCENARIO
from lmms_eval_tasks.causalvqa.official import official_choice

__all__ = [
    "aggregate",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "process_docs",
    "process_results",
    "write_submission",
]


def strata(row: Row) -> dict[str, str]:
    """Type and difficulty of a question, and its scenario where the release says it."""
    return {name: row[name] for name in (*CARD.strata_columns, SCENARIO) if row.get(name)}


grade = choice_grader(official_choice, stratum=strata, fields=("version",))


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)
