"""Cells of tables: a text, a count, or a number with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Any

from lmms_eval_tasks.utils.core.wording import printable_lines


class Mark(str, Enum):
    """On which side of something a number lies, or that it is told apart from it."""

    ABOVE = "above"
    BELOW = "below"
    OPEN = "open"
    DIFFERS = "differs"


EXPLAINED = {
    Mark.ABOVE: "the 95% interval of the score lies above this figure",
    Mark.BELOW: "the 95% interval of the score lies below this figure",
    Mark.OPEN: "the 95% interval of the score contains this figure",
    Mark.DIFFERS: "p < 0.05, adjusted by Holm's method for the comparisons of the table",
}
"""What a mark says of the number that it stands beside."""


@dataclass(frozen=True)
class Number:
    """A number of a table."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    unit: str = ""
    digits: int = 1
    signed: bool = False
    least: float | None = None
    of: str = ""
    after: str = ""
    mark: Mark | None = None

    @property
    def interval_text(self) -> str:
        """``[40.1, 60.2]``; empty where it has no interval."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self._written(self.low)}, {self._written(self.high)}]"

    @property
    def value_text(self) -> str:
        """The number without its interval and its mark."""
        if self.value is None:
            return "N/A"
        if self.least is not None and self.value < self.least:
            return f"<{self.least:.{self.digits}f}"
        return " ".join(filter(None, (self.of, f"{self._written(self.value)}{self.after}")))

    @property
    def text(self) -> str:
        """The number as a terminal shows it: ``50.0 [40.1, 60.2] above``."""
        mark = self.mark.value if self.mark and self.mark is not Mark.DIFFERS else ""
        return " ".join(filter(None, (self.value_text, self.interval_text, mark)))

    def to_json(self) -> dict[str, Any]:
        """What is known of it, not rounded, as JSON values."""
        known = {
            "low": _finite(self.low),
            "high": _finite(self.high),
            "n": self.n,
            "unit": self.unit or None,
            "of": self.of or None,
            "mark": self.mark.value if self.mark else None,
        }
        return {
            "value": _finite(self.value),
            **{name: value for name, value in known.items() if value is not None},
        }

    def _written(self, value: float) -> str:
        # What is rounded to 0 has no minus sign.
        return f"{round(value, self.digits) + 0.0:{'+' if self.signed else ''}.{self.digits}f}"


Cell = str | int | Number
"""A text, a count, or a number."""


def cell_text(cell: Cell) -> str:
    """A cell as a terminal shows it; nothing in it can give the terminal orders."""
    if isinstance(cell, Number):
        return printable_lines(cell.text)
    return f"{cell:,}" if isinstance(cell, int) else printable_lines(cell)


def points(unit: str) -> str:
    """The unit of a difference of two numbers of a unit."""
    return "points" if unit == "%" else unit


def _finite(value: float | None) -> float | None:
    """A number that JSON has."""
    return value if value is not None and isfinite(value) else None
