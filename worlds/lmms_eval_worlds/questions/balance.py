"""Balance of a set of questions: draws, letters of right options, and counts that keep keys free of bias."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import permutations
from string import ascii_uppercase
from typing import TypeVar

import numpy as np

from lmms_eval_worlds.questions.question import QuestionGroup, Sketch, chance_of_first

Drawn = TypeVar("Drawn")


def sample(rng: np.random.Generator, pool: Sequence[Drawn], number: int) -> tuple[Drawn, ...]:
    """So many different members of a pool, or all where it has fewer, in an order drawn at random."""
    return tuple(pool[int(place)] for place in rng.permutation(len(pool))[:number])


def pick(rng: np.random.Generator, pool: Sequence[Drawn]) -> Drawn:
    return pool[int(rng.integers(len(pool)))]


def worded(
    rng: np.random.Generator, templates: Sequence[str], number: int = 1, **names: str
) -> tuple[tuple[str, int], ...]:
    """A question in so many different wordings, each with its number."""
    places = [int(place) for place in rng.permutation(len(templates))[:number]]
    return tuple((templates[place].format(**names), place) for place in places)


CAP = 2.5
"""How far right and wrong options may come apart in anything that can be read, in options."""
SPREAD = 0.75
"""How far they may come apart in many questions: this many standard deviations of what guessing would bring about."""


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


class Deck:
    """Deals places of right options of a task, in rounds in which each occurs once."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._left: defaultdict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)

    def deal(self, options: int, questions: int = 1) -> tuple[int, ...]:
        """The places of the right option in so many versions of a question, all different."""
        left = self._left[options, questions]
        if not left:
            every = list(permutations(range(options), questions))
            left += sample(self._rng, every, len(every))
        return left.pop()

    def order(self, right: str, wrong: Sequence[str], place: int) -> list[str]:
        """Options with the right one in a place, the others shuffled."""
        options = list(sample(self._rng, wrong, len(wrong)))
        options.insert(place, right)
        return options

    def group(self, sketch: Sketch) -> QuestionGroup:
        """The questions of a sketch, one for each wording, their options in orders that are dealt."""
        right, *wrong = sketch.options
        shared = {"about": [list(key) for key in sketch.about], **sketch.fields}
        places = self.deal(len(sketch.options), len(sketch.texts))
        members = [
            {
                "question": text,
                "wording": number,
                "options": self.order(right, wrong, place),
                "answer": ascii_uppercase[place],
                **shared,
            }
            for (text, number), place in zip(sketch.texts, places, strict=True)
        ]
        return QuestionGroup(sketch.facts, sketch.task, sketch.kind, members)


ROUNDS = 3
"""How often a question that would take the set out of balance is tried again, after the others."""


class SketchChooser:
    """Chooses sketches of a task so that its set stays balanced, whatever is chosen first."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._balance, self._frequent = Balance(), FrequentAnswers()
        self._asked: set[Hashable] = set()

    def choose(self, slots: Iterable[Sequence[Sketch]], force: bool = False) -> list[Sketch]:
        """Of each slot the sketch that keeps the set balanced best; none where all take it out of balance."""
        filled = [slot for slot in slots if slot]
        left = list(sample(self._rng, filled, len(filled)))
        chosen: list[Sketch] = []
        for _ in range(ROUNDS):
            again = []
            for slot in left:
                new = [sketch for sketch in slot if sketch.content not in self._asked]
                leans = [{**sketch.lean, **self._frequent.lean(sketch)} for sketch in new]
                place = self._balance.choose(leans, force)
                if place is None:
                    again.append(slot)
                else:
                    chosen.append(new[place])
                    self._frequent.add(new[place])
                    self._asked.add(new[place].content)
            left = again
        return chosen


class FrequentAnswers:
    """Keeps count of how often the most frequent answer of a family is right, the rule of that name of
    `lmms-eval-tasks bias`."""

    def __init__(self) -> None:
        self._right: Counter[tuple[str, str]] = Counter()
        self._asked: defaultdict[tuple[str, str], list[Sketch]] = defaultdict(list)

    def lean(self, sketch: Sketch) -> dict[str, float]:
        """Return the rule's gain over a guess if a question is asked, in that question and in all before it."""
        step = self._advantage(sketch)
        for other in self._asked[sketch.facts.scene.family, sketch.right]:
            step += self._advantage(other, own=1, more=sketch.right) - self._advantage(other, own=1)
        return {f"{sketch.task}/most frequent answer": step}

    def add(self, sketch: Sketch) -> None:
        family = sketch.facts.scene.family
        self._right[family, sketch.right] += 1
        for option in sketch.options:
            self._asked[family, option].append(sketch)

    def _advantage(self, sketch: Sketch, own: int = 0, more: str = "") -> float:
        """Return the probability that the rule is right in a question, less that of a guess."""
        family = sketch.facts.scene.family
        counts = [self._right[family, option] + (option == more) for option in sketch.options]
        counts[0] -= own
        return chance_of_first(counts) - 1 / len(counts)
