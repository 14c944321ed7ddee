"""Bootstrap over groups of items, for scores that are a ratio of sums over groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
LEVEL = 95.0

Contribution = tuple[float, float]
"""What one group adds to a score's numerator and denominator."""


def ratio_draws(
    contributions: Iterable[Contribution], rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.float64]:
    """Bootstrap draws of ``sum(numerators) / sum(denominators)`` over groups drawn with replacement.

    Groups with equal contributions are interchangeable, so how often each distinct contribution is drawn is
    multinomial: the cost depends on the number of distinct contributions, not on the number of groups.

    Args:
        contributions: One per group.
        rng: Source of randomness.
        draws: Number of draws.

    Returns:
        Array of shape (draws,); NaN where a draw's denominator is 0, all NaN without groups.
    """
    counts = Counter(contributions)
    if not counts:
        return np.full(draws, np.nan)
    # Sorted, so that the draws do not depend on the order in which the groups come.
    distinct = sorted(counts)
    frequency = np.array([counts[value] for value in distinct], dtype=float)
    values = np.array(distinct, dtype=float)
    drawn = rng.multinomial(int(frequency.sum()), frequency / frequency.sum(), size=draws)
    sums = drawn @ values
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: NDArray[np.float64] = sums[:, 0] / sums[:, 1]
    return ratio


def macro_interval(
    parts: Sequence[Sequence[Contribution]], seed: int = 0, draws: int = DRAWS, level: float = LEVEL
) -> tuple[float, float] | None:
    """Percentile interval of the unweighted mean of each part's ratio, the groups drawn within each part.

    With one part it is the interval of that part's ratio.

    Args:
        parts: Contributions of the groups of each part (subtask or stratum).
        seed: Seed of all draws; the same seed and contributions give the same interval.
        draws: Number of draws.
        level: Coverage in percent, 0-100.

    Returns:
        Lower and upper end, in the ratio's unit; None where a part has no groups.
    """
    if not parts or not all(parts):
        return None
    rng = np.random.default_rng(seed)
    mean = np.mean([ratio_draws(part, rng, draws) for part in parts], axis=0)
    tail = (100.0 - level) / 2
    low, high = np.nanpercentile(mean, [tail, 100.0 - tail])
    return float(low), float(high)
