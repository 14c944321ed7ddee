"""A question before its options have letters, and which of several sketches keep a set free of bias."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from lmms_eval_tasks.worlds.engine.facts import EventKey, Facts
from lmms_eval_tasks.worlds.questions.question import TaskName

CAP = 2.5
"""How far right and wrong options may come apart in anything that can be read, in options."""
SPREAD = 0.75
"""How far they may come apart in many questions: this many standard deviations of what guessing would bring about."""


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


class Balance:
    """Keeps count of what right options have in common, and chooses what makes up for it."""

    def __init__(self, cap: float = CAP) -> None:
        self._cap = cap
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._squares: defaultdict[str, float] = defaultdict(float)

    def choose(self, leans: Sequence[Mapping[str, float]], force: bool = False) -> int | None:
        """Choose one of several questions, and count it."""
        costs = [(self._cost(lean), place) for place, lean in enumerate(leans)]
        if not costs:
            return None
        (past, _), place = min(costs)
        if past > 0 and not force:
            return None
        for trait, step in leans[place].items():
            self._sums[trait] += step
            self._squares[trait] += step * step
        return place

    def _cost(self, lean: Mapping[str, float]) -> tuple[float, float]:
        """Return how far a step takes traits past the cap, and by how much the sum of squares grows."""
        past = growth = 0.0
        for trait, step in lean.items():
            before = self._sums[trait]
            after = before + step
            growth += after * after - before * before
            cap = max(self._cap, SPREAD * math.sqrt(self._squares[trait]))
            if not trait.startswith("~") and abs(after) > max(cap, abs(before)):
                past += abs(after) - cap
        return past, growth


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
