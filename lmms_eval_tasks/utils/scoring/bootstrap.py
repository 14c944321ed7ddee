"""Bootstrap intervals over groups of items, of any score that is a function of counts summed over groups.

Source: Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13 and 14; docs/statistics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.scoring.metrics import Metric, Stratum, Units, count_groups, score_tasks, sum_groups
from lmms_eval_tasks.utils.scoring.record import Record
from lmms_eval_tasks.utils.scoring.shares import LEVEL, sampled_interval, wilson

DRAWS = 10_000
SEED = 0
PERCENT = (0.0, 100.0)
LOOKED_UP = 1_000
"""Groups of a stratum up to which its binomial distribution is tabulated."""

Counts = tuple[float, ...]
"""What one group adds to the counts that a score is a function of, such as a ratio's numerator and denominator."""

Floats = NDArray[np.float64]
Method = Literal["bca", "percentile"]
Statistic = Callable[[Floats], Floats]
"""Scores from summed counts: array of shape (…, strata, counts) to one of shape (…), or (…, scores) of several."""


@dataclass(frozen=True)
class Strata:
    """The groups of each stratum, as how many of them add which counts."""

    values: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    @classmethod
    def of(cls, parts: Iterable[Iterable[Counts]]) -> Strata:
        """From the contributions of the groups of each stratum, in any order; errors as for `weighted`."""
        return cls.weighted(Counter(part) for part in parts)

    @classmethod
    def weighted(cls, parts: Iterable[Mapping[Any, float]]) -> Strata:
        """From one mapping per stratum, of a contribution to its weight."""
        counted = list(parts)
        lengths = {len(contribution) for part in counted for contribution in part}
        if len(lengths) > 1:
            raise ValueError(f"Expected contributions of one length, but got lengths {sorted(lengths)}.")
        # Sorted, so that the draws do not depend on the order in which the groups come.
        distinct = [sorted(part) for part in counted]
        width = max(lengths, default=2)
        return cls(
            tuple(np.array(keys, dtype=float).reshape(len(keys), width) for keys in distinct),
            tuple(
                np.array([part[key] for key in keys], dtype=float) for part, keys in zip(counted, distinct, strict=True)
            ),
        )

    @property
    def sizes(self) -> list[int]:
        return [round(float(weights.sum())) for weights in self.weights]

    def sums(self) -> Floats:
        return np.array([weights @ values for values, weights in zip(self.values, self.weights, strict=True)])

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Summed counts of groups drawn with replacement within each stratum, as many as it has."""
        width = self.values[0].shape[1] if self.values else 0
        sums = np.zeros((draws, len(self.values), width))
        for stratum, (values, weights, size) in enumerate(zip(self.values, self.weights, self.sizes, strict=True)):
            if size:
                sums[:, stratum] = _drawn_counts(rng, size, weights / weights.sum(), draws) @ values
        return sums


def _drawn_counts(rng: np.random.Generator, size: int, chances: Floats, draws: int) -> Floats:
    from scipy.special import bdtr

    if len(chances) != 2 or size > LOOKED_UP:
        return rng.multinomial(size, chances, size=draws).astype(float)
    # Two kinds of groups are the usual case, and looking a few hundred probabilities up is several times faster.
    second = np.searchsorted(bdtr(np.arange(size), size, chances[1]), rng.random(draws)).astype(float)
    return np.stack([size - second, second], axis=1)


def intervals(
    strata: Strata,
    statistic: Statistic,
    *,
    method: Method = "bca",
    bounds: tuple[float, float] | None = PERCENT,
    seed: int = SEED,
    draws: int = DRAWS,
) -> Floats:
    """Bootstrap intervals of scores, the groups drawn with replacement within each stratum."""
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = np.asarray(statistic(strata.sums()), dtype=float)
        drawn = np.asarray(statistic(strata.draw(np.random.default_rng(seed), draws)), dtype=float)
        scores = drawn.reshape(draws, -1)
        flat = estimate.reshape(-1)
        tail = (100.0 - LEVEL) / 200
        tails = np.tile([tail, 1.0 - tail], (flat.size, 1))
        if method == "bca":
            tails = _adjusted_tails(flat, scores, _acceleration(strata, statistic, flat.size), tails)
        ends = np.array([_quantiles(score, share) for score, share in zip(scores.T, tails, strict=True)])
        if bounds is not None:
            ends = _with_unvaried(strata, statistic, flat, ends, bounds, 1.0 - tail)
    ends[np.isnan(flat)] = np.nan
    return ends.reshape(*estimate.shape, 2)


def _quantiles(scores: Floats, shares: Floats) -> Floats:
    known = scores[~np.isnan(scores)]
    return np.asarray(np.quantile(known, shares)) if known.size else np.full(len(shares), np.nan)


def _acceleration(strata: Strata, statistic: Statistic, scores: int) -> Floats:
    """BCa's acceleration from the jackknife over groups; groups that add the same are left out once, with their
    weight."""
    sums = strata.sums()
    squares, cubes = np.zeros(scores), np.zeros(scores)
    for stratum, (values, weights, size) in enumerate(zip(strata.values, strata.weights, strata.sizes, strict=True)):
        if size < 2 or len(values) < 2:
            continue
        without = np.repeat(sums[None], len(values), axis=0)
        without[:, stratum] -= values
        left = np.asarray(statistic(without), dtype=float).reshape(len(values), scores)
        centre = weights @ left / weights.sum()
        influence = np.nan_to_num((size - 1) / size * (centre - left))
        squares += weights @ influence**2
        cubes += weights @ influence**3
    return np.divide(cubes, 6 * squares**1.5, out=np.zeros(scores), where=squares > 0)


def _adjusted_tails(estimate: Floats, scores: Floats, acceleration: Floats, tails: Floats) -> Floats:
    """The shares of the draws at which BCa's interval ends; shape (scores, 2)."""
    from scipy.special import ndtr, ndtri

    known = np.maximum((~np.isnan(scores)).sum(axis=0), 1)
    # Sums of the same counts in another order can differ in the last bits, and a tie counts half.
    near = 1e-9 * np.maximum(1.0, np.abs(estimate))
    below = (scores < estimate - near).sum(axis=0)
    level_with = (np.abs(scores - estimate) <= near).sum(axis=0)
    share = np.clip((below + level_with / 2) / known, 0.5 / known, 1 - 0.5 / known)
    bias = ndtri(share)[:, None]
    shifted = bias + ndtri(tails)
    adjusted: Floats = ndtr(bias + shifted / np.maximum(1 - acceleration[:, None] * shifted, 1e-9))
    return adjusted


def _with_unvaried(
    strata: Strata, statistic: Statistic, estimate: Floats, ends: Floats, bounds: tuple[float, float], upper: float
) -> Floats:
    """The interval's ends, moved by what those strata could hold whose groups do not vary."""
    from scipy.special import ndtri

    sums = strata.sums()
    extra = np.zeros((estimate.size, 2))
    for stratum, (values, size) in enumerate(zip(strata.values, strata.sizes, strict=True)):
        if not size or values.shape[1] < 2 or not sums[stratum, 1]:
            continue
        # Groups of one, two and three items that are all right do not vary either.
        if not np.allclose(values[:, 0] * sums[stratum, 1], values[:, 1] * sums[stratum, 0]):
            continue
        unlike = ndtri(upper) ** 2 / (size + ndtri(upper) ** 2)
        moved = np.repeat(sums[None], 2, axis=0)
        moved[:, stratum, 0] += unlike * (sums[stratum, 1] * np.array(bounds) - moved[:, stratum, 0])
        reached = np.asarray(statistic(moved), dtype=float).reshape(2, estimate.size)
        extra[:, 0] += np.maximum(estimate - reached.min(axis=0), 0.0) ** 2
        extra[:, 1] += np.maximum(reached.max(axis=0) - estimate, 0.0) ** 2
    distance = np.maximum(np.stack([estimate - ends[:, 0], ends[:, 1] - estimate], axis=1), 0.0)
    moved_ends = estimate[:, None] + np.array([-1.0, 1.0]) * np.sqrt(distance**2 + extra)
    return np.where(extra > 0, moved_ends, ends)


def ratios(sums: Floats) -> Floats:
    """Each stratum's ratio of its first count to its second: (…, strata, counts) to (…, strata); NaN for 0 of 0."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def macro_mean(sums: Floats) -> Floats:
    per_stratum = ratios(sums)
    some = ~np.isnan(per_stratum)
    return np.asarray(np.where(some, per_stratum, 0.0).sum(axis=-1) / some.sum(axis=-1))


def breakdowns(members: Sequence[Sequence[int]]) -> Statistic:
    """The statistic *ratio over several strata together*, one score for each set of strata (all, a type, a
    difficulty)."""

    def scores(sums: Floats) -> Floats:
        chosen = np.zeros((sums.shape[-2], len(members)))
        for score, strata in enumerate(members):
            chosen[list(strata), score] = 1.0
        return np.asarray((sums[..., 0] @ chosen) / (sums[..., 1] @ chosen))

    return scores


def macro_interval(
    parts: Sequence[Sequence[Counts]], bounds: tuple[float, float] = PERCENT, seed: int = SEED, draws: int = DRAWS
) -> tuple[float, float]:
    """95% interval of the unweighted mean of each part's ratio, the groups drawn within each part; BCa."""
    if len(parts) == 1 and set(parts[0]) <= {(bounds[0], 1.0), (bounds[1], 1.0)}:
        shares = wilson(sum(contribution[0] == bounds[1] for contribution in parts[0]), len(parts[0]))
        low, high = (bounds[0] + (bounds[1] - bounds[0]) * share for share in shares)
        return low, high
    low, high = intervals(Strata.of(parts), macro_mean, bounds=bounds, seed=seed, draws=draws)
    return float(low), float(high)


Records = Sequence[Record]
METHOD = f"95% intervals over groups, {DRAWS:,} draws, seed {SEED}"
"""How the interval of every score is computed; docs/statistics.md has the formulas."""
BY_STRATA = "95% intervals of the scores of the whole set, by the strata of a sample of its groups"
"""How it is computed where a sample of groups was asked."""


@dataclass(frozen=True)
class Estimate:
    """A score with its 95% interval, in the score's unit, and how many groups (pairs, clips) are behind it."""

    value: float
    low: float
    high: float
    groups: int


def estimate(metric: Metric, parts: Sequence[Records]) -> Estimate | None:
    """A score with its interval: the unweighted mean over a run's parts (the tasks of a group, or one task)."""
    return estimate_units(metric, [metric.units(part) for part in parts])


def estimate_units(metric: Metric, counted: Sequence[Units]) -> Estimate | None:
    refuse_counts(metric)
    score = score_tasks(metric, counted)
    if score is None:
        return None
    low, high = interval(metric, counted, metric.value_bounds)
    return Estimate(score, low, high, sum(map(count_groups, counted)))


def refuse_counts(metric: Metric) -> None:
    if metric.kind != "mean":
        raise ValueError(f"Expected a mean, which has an interval, but {metric.name} is a count.")


def interval(metric: Metric, parts: Sequence[Units], value_bounds: tuple[float, float] | None) -> tuple[float, float]:
    """The 95% interval of a score from what counts in each part."""
    if any(unit.drawn for unit in chain(*(counted for part in parts for counted in part.values()))):
        return sampled_interval(metric, [part for part in parts if part], value_bounds)
    summed = (sum_groups(units) for units in parts if units)
    known = [{stratum: counts for stratum, counts in part.items() if counts} for part in summed]
    scaled = [
        [(metric.transform(numerator), count) for numerator, count in counts]
        for part in known
        for counts in part.values()
    ]
    bounds = value_bounds and (metric.transform(value_bounds[0]), metric.transform(value_bounds[1]))
    if bounds and not metric.contrast and len(scaled) == 1:
        return macro_interval(scaled, bounds)
    low, high = intervals(Strata.of(scaled), statistic_of(metric, known), bounds=bounds)
    return float(low), float(high)


def statistic_of(metric: Metric, parts: Sequence[Iterable[Stratum]]) -> Statistic:
    """The mean over parts of each part's mean over its strata, or of its contrast."""
    strata = [(part, side) for part, strata in enumerate(parts) for side, _ in strata]

    def score(sums: Floats, part: int) -> Floats:
        one, other = (
            macro_mean(sums[..., [at for at, key in enumerate(strata) if key == (part, side)], :])
            for side in (True, False)
        )
        return one - other if metric.contrast else one

    return lambda sums: np.asarray(sum(score(sums, part) for part in range(len(parts))) / len(parts))
