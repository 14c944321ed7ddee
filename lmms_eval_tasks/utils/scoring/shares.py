"""Wilson's interval of a share, and of a score that is estimated from a sample of groups.

Sources: Wilson 1927; Korn & Graubard, Survey Methodology 24, 1998, for the effective number of groups;
docs/statistics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.sampling import Drawn
from lmms_eval_tasks.utils.scoring.metrics import Metric, Units, score_tasks, weighted_mean

LEVEL = 95.0


def wilson(reached: float, groups: float, quantile: float | None = None) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927), in the form of Newcombe 1998."""
    # That of scipy.stats, whose import takes as long as the rest of a report.
    from scipy.special import ndtri

    z = quantile or float(ndtri(0.5 + LEVEL / 200))
    share, scale = reached / groups, 2 * (groups + z**2)
    centre = (2 * groups * share + z**2) / scale
    half = z / scale * sqrt(4 * groups * share * (1 - share) + z**2)
    return centre - half if reached else 0.0, centre + half if reached < groups else 1.0


class _Asked(NamedTuple):
    """The groups that were asked of a stratum: how much each moves the score, and its part of the score."""

    drawn: Drawn
    influences: NDArray[np.float64]
    parts: NDArray[np.float64]

    @property
    def left(self) -> float:
        """The part of the groups that was not asked, by which variances are smaller than of an endless set."""
        return 1 - self.drawn.asked / self.drawn.groups

    @property
    def variance(self) -> float:
        """What the stratum adds to the variance; of one group alone, by its distance from the mean of all strata."""
        if len(self.influences) == 1:
            return self.left * float(self.influences[0] ** 2)
        return self.left * len(self.influences) * float(self.influences.var(ddof=1))


def sampled_interval(
    metric: Metric, parts: Sequence[Units], value_bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """The 95% interval of the whole's score from a sample of its groups, drawn by strata without replacement: Wilson's,
    for as many groups as would give the variance that the score has."""
    from scipy.special import stdtrit

    score, strata = score_tasks(metric, parts), _strata(metric, parts)
    assert score is not None
    if not strata:
        return score, score
    asked = [len(one.influences) for one in strata]
    # Strata of which one group was asked have their mean in common.
    freedom = max(1, sum(asked) - len([number for number in asked if number > 1]) - (1 in asked))
    quantile = -float(stdtrit(freedom, (100.0 - LEVEL) / 200))
    variance = sum(one.variance for one in strata)
    if value_bounds is None:
        return score - quantile * sqrt(variance), score + quantile * sqrt(variance)
    lowest, highest = map(metric.transform, value_bounds)
    if metric.contrast:
        lowest, highest = lowest - highest, highest - lowest
    span = highest - lowest
    share = (score - lowest) / span
    if variance > 1e-12 * span**2:
        number = share * (1 - share) * span**2 / variance
        low, high = wilson(share * number, number, quantile)
    else:
        number = sum(one.parts.sum() for one in strata) ** 2 / sum(one.left * (one.parts**2).sum() for one in strata)
        unlike = quantile**2 / (number + quantile**2)
        low, high = share - unlike * share, share + unlike * (1 - share)
    return lowest + span * low, lowest + span * high


def _strata(metric: Metric, parts: Sequence[Units]) -> list[_Asked]:
    """What the groups of each stratum that was not asked whole add to a score, those that do not count in it
    nothing."""
    found: dict[tuple[int, str], dict[str, tuple[float, float]]] = {}
    drawn: dict[tuple[int, str], Drawn] = {}
    for number, units in enumerate(parts):
        places = [(side, counted) for (side, _), counted in units.items() if counted]
        sides = Counter(side for side, _ in places)
        whole = [unit for _, counted in places for unit in counted]
        for side, counted in places:
            total = fsum(unit.weight for unit in counted)
            # One group alone does not say how far it is from others of its place.
            alone = len({unit.group for unit in counted}) == 1
            mean = weighted_mean(whole if alone else counted)
            for unit in sorted(counted, key=lambda one: (one.group, one.value, one.weight)):
                if unit.drawn and unit.drawn.asked < unit.drawn.groups:
                    key = number, unit.drawn.stratum
                    drawn[key] = unit.drawn
                    part = unit.weight / total / sides[side] / len(parts)
                    moved = metric.transform(unit.value - mean) * (1 if side else -1)
                    before = found.setdefault(key, {}).get(unit.group, (0.0, 0.0))
                    found[key][unit.group] = before[0] + part * moved, before[1] + part
    strata: list[_Asked] = []
    for key, groups in sorted(found.items()):
        counts = np.zeros((max(drawn[key].asked, len(groups)), 2))
        # Sorted, so that the last bits do not depend on the order in which the groups come.
        counts[: len(groups)] = sorted(groups.values())
        strata.append(_Asked(drawn[key], *counts.T))
    return strata
