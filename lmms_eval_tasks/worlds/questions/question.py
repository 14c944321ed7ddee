"""A question of any task."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_tasks.worlds.engine.facts import Facts

TaskName = Literal["perception", "paired", "minimal", "counterfactual", "evidence", "possible", "reversal"]
NO_EVIDENCE = "[]"
HIDDEN = 0.5
"""Share of a body that is seen, below which the scene counts as one with something hidden."""


class Question(RowForm):
    """A question about a clip, with what is true."""

    item_id: str
    group_id: str
    scene: str
    family: str
    task: TaskName
    kind: str
    level: str = ""
    question: str
    options: list[str] = Field(default=[])
    answer: str
    clip: str
    depth: int
    bodies: int
    distractors: int
    occlusion: Literal["none", "some"]
    wording: int
    intervention: str = ""
    changed: str = ""
    outcome: list[str] = Field(default=[])
    about: list[list[str]] = Field(default=[])
    seen: str = ""
    marked: bool = False
    same_start: bool = False
    arrow: str = ""
    principle: str = ""
    evidence: str = NO_EVIDENCE


def occlusion_of(facts: Facts) -> Literal["none", "some"]:
    """Whether a body that questions may be about is more than half hidden at some time of the clip."""
    actors = set(facts.scene.actors)
    hidden = any(sight.body in actors and sight.visible < HIDDEN for sight in facts.sights)
    return "some" if hidden or any(event.kind == "leaves view" for event in facts.events) else "none"
