"""The ends of axes, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

Bounds = tuple[float, float]


def fit_axis(bounds: Bounds, values: Sequence[float]) -> Bounds:
    """The axis of a score with some bounds: from one to the other."""
    low, high = bounds
    if not all(map(isfinite, bounds)):
        least, most = min(values, default=0.0), max(values, default=1.0)
        beside = 0.05 * (most - least) or 0.05 * abs(most) or 1.0
        return max(least - beside, low), min(most + beside, high)
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), high)
    return (-reach, reach) if low < 0 else bounds


def tick_text(tick: float) -> str:
    """A number of an axis."""
    return f"{tick:,.0f}" if abs(tick) >= 10_000 else f"{tick:g}"
