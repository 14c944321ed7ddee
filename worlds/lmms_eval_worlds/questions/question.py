"""A question of any task, its sketch before options have letters, and traits of options that must not tell the key."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pydantic import Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.scenes.scene import EventKey, Facts

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


class QuestionGroup(NamedTuple):
    """Questions about a scene that count only together; of each, the fields that `Question` has beside the scene's."""

    facts: Facts
    task: TaskName
    kind: str
    members: Sequence[Mapping[str, Any]]


Options = dict[str, tuple[str, ...]]
"""Options with their traits, the right one first."""


def body_options(facts: Facts, bodies: Iterable[str]) -> Options:
    return {wording.sentence(wording.name(body)): body_traits(facts, body) for body in bodies}


def event_options(facts: Facts, keys: Iterable[EventKey]) -> Options:
    return {wording.sentence(wording.happens(key)): event_traits(facts, key) for key in keys}


def body_traits(facts: Facts, body: str) -> tuple[str, ...]:
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
    """A question before its options have letters; `texts` are its wordings, each with its number."""

    facts: Facts
    task: TaskName
    kind: str
    texts: tuple[tuple[str, int], ...]
    options: Options
    about: tuple[EventKey, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def right(self) -> str:
        return next(iter(self.options))

    @property
    def content(self) -> tuple[str, str, str, frozenset[str]]:
        """What distinguishes two questions of a task, whatever their wording."""
        return self.facts.scene.id, self.kind, self.right, frozenset(self.options)

    @cached_property
    def lean(self) -> dict[str, float]:
        """For each trait, how many more right options have it than guessing would choose."""
        share = 1 / len(self.options)
        sums: defaultdict[str, float] = defaultdict(float)
        for place, (option, traits) in enumerate(self.options.items()):
            for trait in traits:
                mark = "~" if trait.startswith("~") else ""
                sums[f"{mark}{self.task}/{self.kind}/{trait.lstrip('~')}"] += (place == 0) - share
            # What is right in one question of a scene is not to be right in its others.
            sums[f"~{self.task}/{self.facts.scene.id}/{option}"] += (place == 0) - share
        lengths = [len(option) for option in self.options]
        for rule, values in (("longest", lengths), ("shortest", [-length for length in lengths])):
            sums[f"{self.task}/{rule}"] = chance_of_first(values) - share
        for number, (text, _) in enumerate(self.texts):
            shared = [shared_words(option, text) for option in self.options]
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
