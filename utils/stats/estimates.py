"""A metric's score with its bootstrap interval, from records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.scoring.metrics import Counts, Metric, Stratum, mean_of_all
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.bootstrap import (
    DRAWS,
    Floats,
    Statistic,
    Strata,
    intervals,
    macro_difference,
    macro_interval,
    macro_mean,
)

Records = Sequence[Record]


@dataclass(frozen=True)
class Estimate:
    """A score with its 95% interval, in the score's unit, and how many groups (pairs, clips) are behind it."""

    value: float
    low: float
    high: float
    groups: int


def estimate(metric: Metric, parts: Sequence[Records], seed: int = 0, draws: int = DRAWS) -> Estimate | None:
    """A score with its interval; groups are drawn with replacement within each part and stratum.

    Args:
        metric: The score.
        parts: The records of each of a run's parts (the tasks of a group, or one task).
        seed: Seed of all draws.
        draws: Number of draws.

    Returns:
        The unweighted mean over the parts; None where one has no score.
    """
    score = mean_of_all(metric.score_records(part) for part in parts)
    if score is None:
        return None
    strata = [metric.contributions(part) for part in parts]
    low, high = interval(metric, strata, metric.value_bounds, seed, draws)
    return Estimate(score, low, high, sum(len(counts) for part in strata for counts in part.values()))


def interval(
    metric: Metric,
    parts: Sequence[Mapping[Stratum, Sequence[Counts]]],
    value_bounds: tuple[float, float] | None,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[float, float]:
    """The 95% interval of a metric's score from what groups contribute.

    Args:
        metric: The score.
        parts: Of each part, stratum to the contributions of its groups.
        value_bounds: Least and greatest value of an item; None where there is no limit.
        seed: Seed of all draws.
        draws: Number of draws.
    """
    known = [{stratum: counts for stratum, counts in part.items() if counts} for part in parts]
    scaled = [
        [(metric.transform(numerator), count) for numerator, count in counts]
        for part in known
        for counts in part.values()
    ]
    bounds = value_bounds and (metric.transform(value_bounds[0]), metric.transform(value_bounds[1]))
    if bounds and not metric.contrast and (len(known) == 1 or all(len(part) == 1 for part in known)):
        found = macro_interval(scaled, seed, draws, bounds=bounds)
        assert found is not None
        return found
    low, high = intervals(Strata.of(scaled), _statistic(metric, known), bounds=bounds, seed=seed, draws=draws)
    return float(low), float(high)


def _statistic(metric: Metric, parts: Sequence[Mapping[Stratum, Sequence[Counts]]]) -> Statistic:
    """The mean over parts of each part's mean over its strata, or of its contrast."""
    start, statistics = 0, []
    for strata in parts:
        places = range(start, start + len(strata))
        start += len(strata)
        if metric.contrast:
            sides = [
                [place for place, (side, _) in zip(places, strata, strict=True) if side is wanted]
                for wanted in (True, False)
            ]
            statistics.append(macro_difference(*sides))
        else:
            statistics.append(_mean_over(list(places)))

    def statistic(sums: Floats) -> Floats:
        mean: Floats = sum(one(sums) for one in statistics) / len(statistics)  # type: ignore[assignment]
        return mean

    return statistic


def _mean_over(places: list[int]) -> Statistic:
    return lambda sums: macro_mean(sums[..., places, :])
