"""The hooks of MVP's tasks: how a question is asked and its answer graded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from lmms_eval_tasks.api import (
    Row,
    RunningTask,
    choice_grader,
    hook,
)
from lmms_eval_tasks.mvp.official import official_choice

__all__ = ["process_results"]

INTPHYS = {"O1": "object permanence", "O2": "shape constancy", "O3": "spatio-temporal continuity"}
"""The concepts of IntPhys, by how the names of its clips begin, such as ``_O1_01_2.mp4``."""


def strata(row: Row) -> dict[str, str]:
    """Subset and source of a row, and the concept that a GRASP clip's folder or an IntPhys clip's name says."""
    *folders, name = PurePosixPath(row["clip"]).parts
    concept = None
    if row["source"] == "grasp":
        concept = next(iter(folders[:1:-1]), None)
    elif row["source"] == "intphys":
        concept = INTPHYS.get(name.lstrip("_").partition("_")[0])
    return {"subset": row["subset"], "source": row["source"], **({"concept": concept} if concept else {})}


grade = choice_grader(official_choice, stratum=strata)


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)
