"""Small draws that several tasks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Drawn = TypeVar("Drawn")


def sample(rng: np.random.Generator, pool: Sequence[Drawn], number: int) -> tuple[Drawn, ...]:
    """So many different members of a pool, or all where it has fewer, in an order drawn at random."""
    return tuple(pool[int(place)] for place in rng.permutation(len(pool))[:number])


def pick(rng: np.random.Generator, pool: Sequence[Drawn]) -> Drawn:
    """One member of a pool."""
    return pool[int(rng.integers(len(pool)))]


def worded(
    rng: np.random.Generator, templates: Sequence[str], number: int = 1, **names: str
) -> tuple[tuple[str, int], ...]:
    """A question in so many different wordings, each with its number."""
    places = [int(place) for place in rng.permutation(len(templates))[:number]]
    return tuple((templates[place].format(**names), place) for place in places)
