"""The best of several runs of the same items, and how far choosing it lifts a score by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.utils.scoring.metrics import Counts, Metric, Stratum
from lmms_eval_tasks.utils.stats.bootstrap import DRAWS, Strata
from lmms_eval_tasks.utils.stats.estimates import Estimate, Records, estimate, refuse_counts, statistic_of

Key = tuple[Stratum, str]
"""A stratum, and the id of a group in it."""


@dataclass(frozen=True)
class BestOf:
    """The best of several runs."""

    place: int
    best: Estimate
    mean: float
    runs: int
    inflation: float


def best_of(metric: Metric, runs: Sequence[Records]) -> BestOf | None:
    """The run with the highest score among runs of the same items, the first among equals; None where one has no
    score."""
    estimates = [estimate(metric, [records]) for records in runs]
    known = [found for found in estimates if found is not None]
    if len(known) < len(runs):
        return None
    place, best = max(enumerate(known), key=lambda found: found[1].value)
    mean = sum(found.value for found in known) / len(known)
    return BestOf(place, best, mean, len(known), inflation(metric, runs))


def inflation(metric: Metric, runs: Sequence[Records], draws: int = DRAWS, seed: int = 0) -> float:
    """How far above its own mean the best of runs of the same items is expected to lie if none is better than
    another."""
    refuse_counts(metric)
    counted = [_count_groups(metric, records) for records in runs]
    keys = sorted({key for counts in counted for key in counts})
    # Sorted, so that the draws do not depend on the order in which the runs come.
    columns = sorted([counts.get(key, (0.0, 0.0)) for key in keys] for counts in counted)
    places = sorted({place for place, _ in keys})
    groups = {place: [at for at, key in enumerate(keys) if key[0] == place] for place in places}
    strata = Strata.of(
        [tuple(number for column in columns for number in column[at]) for at in groups[place]] for place in places
    )
    sums = strata.draw(np.random.default_rng(seed), draws)
    score = statistic_of(metric, [places])
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.stack([score(sums[..., 2 * run : 2 * run + 2]) for run in range(len(columns))], axis=1)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    return float((drawn - drawn.mean(axis=0)).max(axis=1).mean()) if len(drawn) else float("nan")


def _count_groups(metric: Metric, records: Records) -> Mapping[Key, Counts]:
    """What each group adds to its stratum's mean: the sum and the number of its values."""
    counts: dict[Key, Counts] = {}
    for place, units in metric.units(records).items():
        for unit in units:
            total, number = counts.get((place, unit.group), (0.0, 0.0))
            counts[place, unit.group] = (total + metric.transform(unit.value), number + 1.0)
    return counts
