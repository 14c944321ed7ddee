"""What every figure has: a caption, its numbers as a table, and one drawing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.tables import FittingTable

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.figures.sheet import Sheet

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Figure(ABC):
    """A figure of a report.

    Attributes:
        caption: What it shows, for those who do not see it, and for its table.
        name: What tells it apart from the other figures of its panel, such as a run's name; it stands above the figure.
        tag: The number of the run that it is of, shown before the name.
    """

    caption: str
    name: str = field(default="", kw_only=True)
    tag: str = field(default="", kw_only=True)

    @abstractmethod
    def table(self) -> FittingTable:
        """The numbers that it shows."""

    @abstractmethod
    def draw_on(self, sheet: Sheet) -> None:
        """Draw it below what the sheet has."""


def fit_axis(bounds: Bounds, values: Sequence[float]) -> Bounds:
    """The axis of a score with some bounds: all of them, or for a difference, in twenties around zero, what holds all
    values."""
    low, most = bounds
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), most)
    return (-reach, reach) if low < 0 else bounds


def tick_text(tick: float) -> str:
    """A number of an axis."""
    return f"{tick:,.0f}" if abs(tick) >= 10_000 else f"{tick:g}"
