"""The ends of axes, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence

Bounds = tuple[float, float]


def fit_axis(bounds: Bounds, values: Sequence[float]) -> Bounds:
    """The axis of a score with some bounds: all of them, or for a difference, in twenties around zero, what holds all
    values."""
    low, most = bounds
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), most)
    return (-reach, reach) if low < 0 else bounds


def tick_text(tick: float) -> str:
    """A number of an axis."""
    return f"{tick:,.0f}" if abs(tick) >= 10_000 else f"{tick:g}"
