"""Whether two observers err on the same items more often than their accuracies alone make them.

Source: Geirhos, Meding & Wichmann 2020 (arXiv 2006.16736): Cohen's kappa of right and wrong, and its bounds. How
several people to an item count is ours: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.utils.stats.bootstrap import Floats, Strata, intervals
from lmms_eval_tasks.utils.stats.shared_items import SharedItem, sum_groups

Judged = tuple[float, float, float]
"""Of an item: the chance that both observers are right or both wrong, that the first is right, and the second; 0-1."""


@dataclass(frozen=True)
class Consistency:
    """How far two observers err on the same items."""

    items: int
    groups: int
    right: tuple[float, float]
    agreement: float
    expected: float
    kappa: float | None
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None


def expected_agreement(first: float, second: float) -> float:
    """Share of items on which two independent observers are both right or both wrong, from their accuracies (0-1)."""
    return first * second + (1 - first) * (1 - second)


def kappa_bounds(first: float, second: float) -> tuple[float, float] | None:
    """Least and greatest kappa of two observers, from their accuracies (0-1)."""
    expected = expected_agreement(first, second)
    if expected == 1:
        return None
    least, most = abs(first + second - 1), 1 - abs(first - second)
    return (least - expected) / (1 - expected), (most - expected) / (1 - expected)


def run_with_people(item: SharedItem, run: int) -> Judged | None:
    """A run and a person drawn from those who answered an item; None where the run has no score."""
    right = item.right(run)
    people = item.share_right
    return None if right is None else (expected_agreement(right, people), right, people)


def two_runs(item: SharedItem, first: int, second: int) -> Judged | None:
    one, other = item.right(first), item.right(second)
    return None if one is None or other is None else (float(one == other), one, other)


def two_people(item: SharedItem) -> Judged | None:
    """Two different people drawn from those who answered an item; None where there are not two."""
    number = len(item.people)
    if number < 2:
        return None
    right = sum(right for _, right in item.people)
    wrong = number - right
    alike = (right * (right - 1) + wrong * (wrong - 1)) / (number * (number - 1))
    return alike, item.share_right, item.share_right


def find_consistency(judged: Iterable[tuple[SharedItem, Judged | None]]) -> Consistency | None:
    """Cohen's kappa of right and wrong, each item counting once; None without items."""
    known = [(item, one) for item, one in judged if one is not None]
    if not known:
        return None
    strata = Strata.of(sum_groups((item, (agreed, 1.0, first, second)) for item, (agreed, first, second) in known))
    agreement, number, *right = strata.sums().sum(axis=0)
    shares = (float(right[0] / number), float(right[1] / number))
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = float(_kappa(strata.sums()))
    bounds = kappa_bounds(*shares)
    ends = None
    if bounds and not np.isclose(*bounds):
        low, high = map(float, intervals(strata, _kappa, bounds=(0.0, 1.0)))
        ends = low, high
    return Consistency(
        items=len(known),
        groups=sum(strata.sizes),
        right=shares,
        agreement=float(agreement / number),
        expected=expected_agreement(*shares),
        kappa=kappa if bounds else None,
        interval=ends,
        bounds=bounds,
    )


def _kappa(sums: Floats) -> Floats:
    """Kappa from summed agreement, number, and right items of both; over all strata together."""
    agreed, number, first, second = np.moveaxis(sums.sum(axis=-2), -1, 0)
    chance = (first * second + (number - first) * (number - second)) / number
    return np.asarray((agreed - chance) / np.where(np.isclose(chance, number), np.nan, number - chance))


def run_consistency(items: Sequence[SharedItem], run: int) -> Consistency | None:
    """A run with people."""
    return find_consistency((item, run_with_people(item, run)) for item in items)


def people_consistency(items: Sequence[SharedItem]) -> Consistency | None:
    """People with one another, on the items that two or more answered."""
    return find_consistency((item, two_people(item)) for item in items)
