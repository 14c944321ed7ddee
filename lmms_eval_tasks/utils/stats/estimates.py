"""A metric's score with its bootstrap interval, from records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.utils.scoring.metrics import (
    Metric,
    Stratum,
    Units,
    count_groups,
    score_tasks,
    sum_groups,
)
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.bootstrap import (
    DRAWS,
    Floats,
    Statistic,
    Strata,
    intervals,
    macro_interval,
    macro_mean,
)

Records = Sequence[Record]
SEED = 0
METHOD = f"95% intervals over groups, {DRAWS:,} draws, seed {SEED}"
"""How the interval of every score is computed; docs/statistics.md has the formulas."""


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
    """The same from what counts in each part."""
    refuse_counts(metric)
    score = score_tasks(metric, counted)
    if score is None:
        return None
    low, high = interval(metric, counted, metric.value_bounds)
    return Estimate(score, low, high, sum(map(count_groups, counted)))


def refuse_counts(metric: Metric) -> None:
    """Refuse a score that is a count where an interval is asked for."""
    if metric.kind != "mean":
        raise ValueError(f"Expected a mean, which has an interval, but {metric.name} is a count.")


def interval(metric: Metric, parts: Sequence[Units], value_bounds: tuple[float, float] | None) -> tuple[float, float]:
    """The 95% interval of a score from what counts in each part."""
    summed = (sum_groups(units) for units in parts if units)
    known = [{stratum: counts for stratum, counts in part.items() if counts} for part in summed]
    scaled = [
        [(metric.transform(numerator), count) for numerator, count in counts]
        for part in known
        for counts in part.values()
    ]
    bounds = value_bounds and (metric.transform(value_bounds[0]), metric.transform(value_bounds[1]))
    if bounds and not metric.contrast and (len(known) == 1 or all(len(part) == 1 for part in known)):
        return macro_interval(scaled, bounds)
    low, high = intervals(Strata.of(scaled), statistic_of(metric, known), bounds=bounds)
    return float(low), float(high)


def statistic_of(metric: Metric, parts: Sequence[Iterable[Stratum]]) -> Statistic:
    """The mean over parts of each part's mean over its strata, or of its contrast."""
    strata = [(part, side) for part, strata in enumerate(parts) for side, _ in strata]

    def mean_of(sums: Floats, part: int, side: bool) -> Floats:
        return macro_mean(sums[..., [place for place, key in enumerate(strata) if key == (part, side)], :])

    def score(sums: Floats, part: int) -> Floats:
        return mean_of(sums, part, True) - mean_of(sums, part, False) if metric.contrast else mean_of(sums, part, True)

    return lambda sums: np.asarray(sum(score(sums, part) for part in range(len(parts))) / len(parts))
