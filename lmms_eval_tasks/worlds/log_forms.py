"""What Worlds' lines of a sample log have beyond those of every task."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.api.evidence import EvidenceFields
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.worlds.card import OWN_STRATA, STRATA


class SceneFields(LogForm):
    """Of which scene a question is, and which step of a causal answer it tests."""

    scene: str
    step: str


class GroundedFields(EvidenceFields):
    """The same of a question whose answer has evidence."""

    scene: str
    step: str


def line_of(subset: str) -> Any:
    """The form of the lines of a task."""
    fields = GroundedFields if subset == "evidence" else SceneFields
    return log_line(fields, (*STRATA, *OWN_STRATA[subset]))
