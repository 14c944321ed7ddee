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
    """A question about a clip, with what is true.

    Attributes:
        item_id: Its own id.
        group_id: The same for questions that count together; they stand next to each other.
        scene: Id of the scene.
        family: The scene's.
        task: The task that asks it.
        kind: What it asks about, within the task.
        level: Of a counterfactual question, `direct`, `chain` or `absent`.
        question: Its text, without the options.
        options: Their texts; none where the answer is yes or no.
        answer: Letter of the right option, or `yes` or `no`.
        clip: File name of the clip.
        depth: How many links the scene's longest chain of causes has.
        bodies: How many bodies the scene has that questions may be about.
        distractors: How many bodies have no part in what the scene's family is about.
        occlusion: Whether a body is more than half hidden at some time.
        wording: Which of the wordings of its kind it has.
        intervention: What is changed, as in `Intervention.kind`; empty where nothing is.
        changed: The body that is changed, or two with " and " between them.
        outcome: The event that is asked about, as kind, body and other body; empty where there is not just one.
        about: All events that it is about, in the same form. A perception question is the control of those with which
            it shares one.
        seen: What the graph of what was seen answers; empty where that is not asked.
        marked: Whether that is wrong.
        same_start: Of a minimal pair, whether both clips look alike at the start.
        arrow: Of a reversed clip, `strong` where much energy is lost, `none` where hardly any is.
        principle: Which principle the group's second clip breaks.
        evidence: JSON of the true instances, as CaST-Bench releases them.
    """

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
