"""The hooks of IntPhys 2's tasks: how a clip is asked about and the answer graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.api import (
    Row,
    RunningTask,
    TaskContext,
    hook,
)
from lmms_eval_tasks.api.answers import plausibility_grader
from lmms_eval_tasks.intphys2 import surprise
from lmms_eval_tasks.intphys2.card import CARD
from lmms_eval_tasks.intphys2.official import official_answer
from lmms_eval_tasks.intphys2.prompt import asks_for_digit

__all__ = ["process_results", "surprise_doc_to_text", "surprise_process_results"]


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)


@hook
def surprise_doc_to_text(
    task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> str:
    """Nothing: losses are of the clips alone."""
    return task.put(doc, lmms_eval_specific_kwargs, lambda row, settings: "")


@hook
def surprise_process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a pair's losses, and what it contributes to each score."""
    return task.grade_first(doc, results, surprise.grade)


def own_fields(row: Row, response: object, context: TaskContext) -> dict[str, Any]:
    """The clip's ``pair`` and ``coding``, what the official notebook reads, and whether that is right.

    It is wrong, too, where the clip is missing, as the notebook counts every row of its metadata.
    """
    prompt = context.settings.prompt
    official = None
    if row["asked"] and isinstance(response, str):
        official = official_answer(response, digits=prompt is not None and asks_for_digit(prompt))
    return {
        "pair": row["pair"],
        "coding": row["coding"],
        "official_answered": official,
        "official_correct": None if row["answer"] is None else official == row["answer"],
    }


grade = plausibility_grader(CARD.strata_columns, own_fields)
