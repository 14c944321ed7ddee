"""Letters of right options, each as often as any other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import permutations
from string import ascii_uppercase

import numpy as np

from lmms_eval_tasks.worlds.questions.drafting import sample


class Deck:
    """Deals places of right options, in rounds in which each occurs once."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._left: defaultdict[Hashable, list[tuple[int, ...]]] = defaultdict(list)

    def deal(self, task: str, options: int, questions: int = 1) -> tuple[int, ...]:
        """The places of the right option in so many versions of a question, all different."""
        left = self._left[task, options, questions]
        if not left:
            every = list(permutations(range(options), questions))
            left += sample(self._rng, every, len(every))
        return left.pop()

    def order(self, right: str, wrong: Sequence[str], place: int) -> list[str]:
        """Options with the right one in a place, the others shuffled."""
        options = list(sample(self._rng, wrong, len(wrong)))
        options.insert(place, right)
        return options


def letter(place: int) -> str:
    """The letter of a place, from 0."""
    return ascii_uppercase[place]
