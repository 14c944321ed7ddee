"""Tables and their cells: a text, a count or a number with its notes, shown whole on a terminal of any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import isfinite
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table

from lmms_eval_tasks.utils.core.text import printable_lines


class Mark(str, Enum):
    """Mark of a number: the side of a bound on which it lies, or that it differs."""

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
        """Return the known parts of the cell, not rounded, as JSON values."""
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
    return value if value is not None and isfinite(value) else None


LONGEST = 48
"""Characters of a word that is not folded while there is room otherwise."""


class FittingTable:
    """A table of names and values, which a terminal of any width can show and `output` writes for other programs."""

    def __init__(
        self,
        title: str | None,
        headings: Sequence[str],
        names: int = 1,
        numbers: bool = True,
        padding: int = 0,
        blank_repeats: bool = False,
    ) -> None:
        self.title, self.caption, self.signature, self.padding = title or "", "", "", padding
        self.headings, self.names = tuple(map(printable_lines, headings)), names
        self.rows: list[tuple[Cell, ...]] = []
        self.warnings: list[str] = []
        self._numbers, self._blank_repeats = numbers, blank_repeats

    def add_row(self, *cells: Cell) -> None:
        if len(cells) != len(self.headings):
            raise ValueError(f"Expected {len(self.headings)} cells, but got {len(cells)}.")
        self.rows.append(tuple(printable_lines(cell) if isinstance(cell, str) else cell for cell in cells))

    def texts(self) -> list[tuple[str, ...]]:
        return [tuple(map(cell_text, row)) for row in self.rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the table, whose cells fold where the terminal is too narrow."""
        if self.title:
            yield console.render_str(self.title, style="table.title")
        for warning in self.warnings:
            yield console.render_str(warning, style="bold red")
        rows, widths = self._fit(options.max_width - 1 - len(self.headings) * (2 * self.padding + 1))
        table = Table(box=box.SIMPLE_HEAD, padding=(0, self.padding))
        for place, (heading, width) in enumerate(zip(self.headings, widths, strict=True)):
            justify: JustifyMethod = "right" if self._numbers and place >= self.names else "left"
            table.add_column(heading, justify=justify, overflow="fold", width=width)
        for row in rows:
            table.add_row(*row)
        yield table
        if self.caption:
            yield console.render_str(self.caption, style="table.caption")

    def _shown_texts(self) -> list[tuple[str, ...]]:
        """The texts of each row, without names that only repeat those of the row above."""
        texts = self.texts()
        if not self._blank_repeats:
            return texts
        shown = texts[:1]
        for above, row in pairwise(texts):
            same = next((at for at in range(self.names) if row[at] != above[at]), self.names)
            shown.append(("",) * same + row[same:])
        return shown

    def _fit(self, room: int) -> tuple[list[tuple[str, ...]], list[int]]:
        """Return rows, and widths of columns; where they are too wide, intervals stand below, then words fold."""
        rows = self._shown_texts()
        below = [
            tuple(
                text.replace(" [", "\n[") if isinstance(cell, Number) else text for cell, text in zip(*row, strict=True)
            )
            for row in zip(self.rows, rows, strict=True)
        ]
        for shown, of_number in ((rows, _width), (below, _width), (below, _longest_word)):
            least = [_longest_word(heading) for heading in self.headings]
            for cells, texts in zip(self.rows, shown, strict=True):
                needed = (
                    (of_number if isinstance(cell, Number) else _longest_word)(text)
                    for cell, text in zip(cells, texts, strict=True)
                )
                least = list(map(max, least, needed))
            if sum(least) <= room:
                break
        else:
            least = [1] * len(least)
        widths = [max(map(_width, column)) for column in zip(self.headings, *shown, strict=True)]
        for most in range(max(widths), 0, -1):
            if sum(widths) <= room:
                break
            # The widest give way.
            widths = [min(width, max(low, most)) for width, low in zip(widths, least, strict=True)]
        return shown, widths


def _width(text: str) -> int:
    return max((cell_len(line) for line in text.split("\n")), default=0)


def _longest_word(text: str) -> int:
    return max((min(cell_len(word), LONGEST) for word in text.split()), default=0)
