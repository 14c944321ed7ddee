"""The hooks of MVP's tasks: how a question is asked and its answer graded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
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
from lmms_eval_tasks.mvp.official import official_choice

__all__ = [
    "aggregate",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "process_docs",
    "process_results",
    "write_submission",
]

CONCEPT_SOURCES = ("grasp", "intphys")
"""Sources whose clips lie in a folder for each concept of physics, such as ``grasp/Gravity-Continuity/0001.mp4``."""


def strata(row: Row) -> dict[str, str]:
    """Subset and source of a row, and the concept that the folder of its clip names, where it names one."""
    folders = PurePosixPath(row["clip"]).parts[2:-1]
    concept = {"concept": folders[-1]} if row["source"] in CONCEPT_SOURCES and folders else {}
    return {"subset": row["subset"], "source": row["source"], **concept}


grade = choice_grader(official_choice, stratum=strata)


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)
