"""A question of any task, its sketch before options have letters, and the traits of options that must not give a key
away.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts

TaskName = Literal["perception", "paired", "minimal", "counterfactual", "evidence", "possible", "reversal"]
NO_EVIDENCE = "[]"
HIDDEN = 0.5
"""Share of a body that is seen, below which the scene counts as one with something hidden."""


class Question(RowForm):
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


def body_traits(facts: Facts, body: str) -> tuple[str, ...]:
    """Of a body: its shape, its colour, and both together."""
    found = facts.scene.body(body)
    return (f"shape {found.shape}", f"colour {found.colour}", f"body {body}")


def event_traits(facts: Facts, key: EventKey) -> tuple[str, ...]:
    """Of an event: its kind, the shapes and colours of its bodies, and the kind for each shape."""
    bodies = [facts.scene.body(one) for one in (key.body, key.other) if one]
    shapes = " ".join(sorted(body.shape for body in bodies)) if key.kind == "hits" else bodies[0].shape
    colours = sorted({f"colour {body.colour}" for body in bodies})
    return (f"kind {key.kind}", f"kind {key.kind} {shapes}", *colours)


@dataclass(frozen=True)
class Sketch:
    """A question with one right option and wrong ones."""

    facts: Facts
    task: TaskName
    kind: str
    texts: tuple[tuple[str, int], ...]
    right: str
    wrong: tuple[str, ...]
    traits: Mapping[str, tuple[str, ...]]
    about: tuple[EventKey, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """All options, the right one first."""
        return (self.right, *self.wrong)

    @cached_property
    def lean(self) -> dict[str, float]:
        """For each trait, how many more right options have it than guessing would choose."""
        options, share = self.options, 1 / (1 + len(self.wrong))
        sums: defaultdict[str, float] = defaultdict(float)
        for place, option in enumerate(options):
            for trait in self.traits.get(option, ()):
                mark = "~" if trait.startswith("~") else ""
                sums[f"{mark}{self.task}/{self.kind}/{trait.lstrip('~')}"] += (place == 0) - share
            # What is right in one question of a scene is not to be right in its others.
            sums[f"~{self.task}/{self.facts.scene.id}/{option}"] += (place == 0) - share
        lengths = [len(option) for option in options]
        for rule, values in (("longest", lengths), ("shortest", [-length for length in lengths])):
            sums[f"{self.task}/{rule}"] = chance_of_first(values) - share
        for number, (text, _) in enumerate(self.texts):
            shared = [shared_words(option, text) for option in options]
            sums[f"{self.task}/{number}/most like the question"] = chance_of_first(shared) - share
            sums[f"{self.task}/{number}/least like the question"] = chance_of_first([-one for one in shared]) - share
        return dict(sums)


def shared_words(option: str, question: str) -> float:
    """The share of an option's words and pairs of adjacent words that the question has too, from 0 to 1."""
    own = _words(option)
    return len(own & _words(question)) / len(own) if own else 0.0


@lru_cache(maxsize=8192)
def _words(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return frozenset([*((word,) for word in words), *pairwise(words)])


def chance_of_first(values: Sequence[float]) -> float:
    """The chance that the first is chosen where one of the highest is."""
    best = max(values)
    return (values[0] == best) / sum(value == best for value in values)
