"""Fields of Worlds' sample log lines beyond those of every task."""

from __future__ import annotations

from lmms_eval_tasks.api.evidence import EvidenceFields
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.worlds.card import COLUMNS


class SceneFields(LogForm):
    """Scene and events of a question, the step of a causal answer that it tests, and the score of a guess."""

    scene: str
    step: str
    about: list[str]
    chance: float


class GroundedFields(SceneFields, EvidenceFields):
    """The same of a question whose answer has evidence."""


SceneLine = log_line(SceneFields, COLUMNS)
"""The line of a question."""
GroundedLine = log_line(GroundedFields, COLUMNS)
"""The line of a question whose answer has evidence."""
