"""Ranks of runs from their scores and intervals alone: what cannot be told apart stands in one rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from lmms_eval_tasks.utils.stats.comparison import holm

SIGNIFICANT = 0.05
"""Two runs are told apart where their p-value, adjusted for all pairs, is below this."""


@dataclass(frozen=True)
class Scored:
    """A score with the ends of its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """Where a run stands among others."""

    rank: int
    alike: tuple[int, ...]


def interval_p_value(one: Scored, other: Scored) -> float:
    """Two-sided p-value of no difference between two scores, from their 95% intervals, as of independent runs."""
    from scipy.stats import norm

    higher, lower = (one, other) if one.value >= other.value else (other, one)
    difference = higher.value - lower.value
    if difference == 0.0:
        return 1.0
    squares = max(0.0, higher.value - higher.low) ** 2 + max(0.0, lower.high - lower.value) ** 2
    if squares == 0.0:
        return 0.0
    return float(2 * norm.sf(difference / squares**0.5 * norm.ppf(1 - SIGNIFICANT / 2)))


def rank_scores(scores: Sequence[Scored], higher_is_better: bool = True) -> list[Standing]:
    """Rank runs: 1 and the number of runs that are told apart from a run as better (Chiang et al. 2024, section 5)."""
    pairs = list(combinations(range(len(scores)), 2))
    adjusted = holm([interval_p_value(scores[one], scores[other]) for one, other in pairs])
    better: list[set[int]] = [set() for _ in scores]
    apart: list[set[int]] = [{place} for place in range(len(scores))]
    for (one, other), p_value in zip(pairs, adjusted, strict=True):
        if p_value < SIGNIFICANT:
            one_is_better = (scores[one].value > scores[other].value) == higher_is_better
            better[other if one_is_better else one].add(one if one_is_better else other)
            apart[one].add(other)
            apart[other].add(one)
    every = range(len(scores))
    return [Standing(1 + len(better[place]), tuple(one for one in every if one not in apart[place])) for place in every]
