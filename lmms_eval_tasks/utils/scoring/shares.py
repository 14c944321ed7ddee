"""Wilson's interval of a share, and of a score that is estimated from a sample of groups.

Sources: Wilson 1927; Korn & Graubard, Survey Methodology 24, 1998, for the effective number of groups;
docs/statistics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.sampling import Drawn
from lmms_eval_tasks.utils.scoring.metrics import Metric, ScoreUnit, Units, score_tasks

LEVEL = 95.0
LEAST = 2
"""Groups of a stratum, or in a mean, below which others are needed to say how they vary."""


def wilson(reached: float, groups: float) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927), in the form of Newcombe 1998."""
    # That of scipy.stats, whose import takes as long as the rest of a report.
    from scipy.special import ndtri

    z = float(ndtri(0.5 + LEVEL / 200))
    share, scale = reached / groups, 2 * (groups + z**2)
    centre = (2 * groups * share + z**2) / scale
    half = z / scale * sqrt(4 * groups * share * (1 - share) + z**2)
    return centre - half if reached else 0.0, centre + half if reached < groups else 1.0


class _Cell(NamedTuple):
    """Groups that were asked of a stratum, or of several: how much each moves the score, and its part of the score."""

    groups: int
    influences: NDArray[np.float64]
    parts: NDArray[np.float64]

    @property
    def asked(self) -> int:
        return len(self.influences)

    @property
    def left(self) -> float:
        """The part of the groups that was not asked, by which variances are smaller than of an endless set."""
        return 1 - self.asked / self.groups

    @property
    def variance(self) -> float:
        return self.left * self.asked * float(self.influences.var(ddof=min(1, self.asked - 1)))


def sampled_interval(
    metric: Metric, parts: Sequence[Units], value_bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """The 95% interval of the whole's score from a sample of its groups, drawn by strata without replacement: Wilson's,
    for as many groups as would give the variance that the score has."""
    from scipy.special import ndtri, stdtrit

    score, cells = score_tasks(metric, parts), _cells(metric, parts)
    assert score is not None
    if not cells:
        return score, score
    together = _joined(cells)
    freedom = together.asked - len(cells)
    variance = (freedom * sum(cell.variance for cell in cells) + together.variance) / (freedom + 1)
    tail = (100.0 - LEVEL) / 200
    quantile = -float(stdtrit(freedom + 1, tail))
    if value_bounds is None:
        return score - quantile * sqrt(variance), score + quantile * sqrt(variance)
    lowest, highest = map(metric.transform, value_bounds)
    if metric.contrast:
        lowest, highest = lowest - highest, highest - lowest
    span = highest - lowest
    share, narrower = (score - lowest) / span, (quantile / float(stdtrit(together.asked, tail))) ** 2
    if variance > 1e-12 * span**2:
        number = share * (1 - share) * span**2 / variance / narrower
        low, high = wilson(share * number, number)
    else:
        number = together.parts.sum() ** 2 / sum(cell.left * (cell.parts**2).sum() for cell in cells) / narrower
        unlike = 1 - number / (number + float(ndtri(tail)) ** 2)
        low, high = share - unlike * share, share + unlike * (1 - share)
    return lowest + span * low, lowest + span * high


def _cells(metric: Metric, parts: Sequence[Units]) -> list[_Cell]:
    """What the groups of each stratum that was not asked whole add to a score, those that do not count in it nothing.

    A stratum of which one group was asked is joined to the next one (collapsed strata; Cochran 1977, section 5A.12).
    """
    found: dict[tuple[int, str], dict[str, tuple[float, float]]] = {}
    drawn: dict[tuple[int, str], Drawn] = {}
    for number, units in enumerate(parts):
        whole = _mean([unit for counted in units.values() for unit in counted])
        sides = Counter(side for (side, _), counted in units.items() if counted)
        for (side, _), counted in units.items():
            total = sum(unit.weight for unit in counted)
            mean = _mean(counted) if len({unit.group for unit in counted}) >= LEAST else whole
            for unit in counted:
                if unit.drawn and unit.drawn.asked < unit.drawn.groups:
                    key = number, unit.drawn.stratum
                    drawn[key] = unit.drawn
                    part = unit.weight / total / sides[side] / len(parts)
                    moved = metric.transform(unit.value - mean) * (1 if side else -1)
                    before = found.setdefault(key, {}).get(unit.group, (0.0, 0.0))
                    found[key][unit.group] = before[0] + part * moved, before[1] + part
    cells: list[_Cell] = []
    for key, groups in sorted(found.items()):
        counts = np.zeros((max(drawn[key].asked, len(groups)), 2))
        counts[: len(groups)] = list(groups.values())
        cell = _Cell(drawn[key].groups, *counts.T)
        if cells and cells[-1].asked < LEAST:
            cells[-1] = _joined([cells[-1], cell])
        else:
            cells.append(cell)
    if len(cells) > 1 and cells[-1].asked < LEAST:
        cells[-2:] = [_joined(cells[-2:])]
    return cells


def _mean(units: Sequence[ScoreUnit]) -> float:
    return sum(unit.weight * unit.value for unit in units) / (sum(unit.weight for unit in units) or 1.0)


def _joined(cells: Sequence[_Cell]) -> _Cell:
    return _Cell(
        sum(cell.groups for cell in cells),
        np.concatenate([cell.influences for cell in cells]),
        np.concatenate([cell.parts for cell in cells]),
    )
