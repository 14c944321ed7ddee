"""Tables of a terminal whose names and headings stay whole: what does not fit beside them follows below them."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table

from lmms_eval_tasks.utils.core.wording import printable_lines

LEAST = 20
"""Characters that a name or another text has at least, before it is folded."""


class FittingTable:
    """A table of names and values that any width can show.

    Names come first in each row. Where its columns do not fit side by side, they are printed as several tables below
    each other, each with the names. Only a text that is wider than its share of the terminal is folded.

    Attributes:
        caption: What stands below it.
        padding: Spaces beside each cell.
    """

    def __init__(
        self, title: str | None, headings: Sequence[str], names: int = 1, numbers: bool = True, padding: int = 0
    ) -> None:
        """Make an empty table.

        Args:
            title: What stands above it.
            headings: Of its columns; they need not differ.
            names: How many of its columns hold names.
            numbers: Whether the others hold numbers, which stand to the right.
            padding: Spaces beside each cell.
        """
        self.title, self.caption, self.padding = title or "", "", padding
        self._headings, self._names, self._numbers = list(map(printable_lines, headings)), names, numbers
        self._rows: list[tuple[str, ...]] = []

    @property
    def row_count(self) -> int:
        """How many rows it has."""
        return len(self._rows)

    def add_row(self, *cells: str) -> None:
        """Add a row, a text for each column."""
        self._rows.append(tuple(map(printable_lines, cells)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or several that show all of its columns."""
        if self.title:
            yield console.render_str(self.title, style="table.title")
        names = range(self._names)
        widths, parts = self._lay_out(options.max_width)
        for part in parts:
            table = Table(box=box.SIMPLE_HEAD, padding=(0, self.padding))
            for column in (*names, *part):
                justify: JustifyMethod = "right" if self._numbers and column not in names else "left"
                table.add_column(self._headings[column], justify=justify, overflow="fold", width=widths[column])
            for row in self._rows:
                table.add_row(*(row[column] for column in (*names, *part)))
            yield table
        if self.caption:
            yield console.render_str(self.caption, style="table.caption")

    def _lay_out(self, width: int) -> tuple[list[int], list[list[int]]]:
        """The width of each column, and which columns stand beside the names in each table."""
        names, around = self._names, 2 * self.padding + 1
        columns = list(zip(self._headings, *self._rows, strict=True))
        natural = [max(map(_width, column)) for column in columns]
        words = [max(_width(word) for text in column for word in (text.split() or [""])) for column in columns]
        whole = words[:names]
        free = width - 1 - len(natural) * around
        short = [min(one, max(width // 3, LEAST)) for one in natural[names:]]
        # A number and its interval stay on one line.
        folded = [max(word, min(one, LEAST)) for word, one in zip(words[names:], short, strict=True)]
        for values in (natural[names:], short, *([] if self._numbers else [folded])):
            if sum(whole) + sum(values) <= free:
                widths = [*_shrink(natural[:names], whole, free - sum(values)), *values]
                longest = max(range(len(widths)), key=lambda column: natural[column] - widths[column])
                widths[longest] = min(natural[longest], widths[longest] + free - sum(widths))
                return widths, [list(range(names, len(widths)))]
        share = max(width // 2 - names * around, min(sum(whole), width - 1 - (names + 1) * around - LEAST))
        shown = _shrink(natural[:names], whole if sum(whole) <= share else [LEAST] * names, share)
        beside = width - 1 - sum(shown) - names * around
        widths = [*shown, *(min(one, beside - around) for one in short)]
        parts: list[list[int]] = [[]]
        for column in range(names, len(widths)):
            if parts[-1] and sum(widths[other] + around for other in (*parts[-1], column)) > beside:
                parts.append([])
            parts[-1].append(column)
        return widths, parts


def _shrink(widths: Sequence[int], least: Sequence[int], total: int) -> list[int]:
    """Widths whose sum is no more than a total, where the least ones allow it: the widest give way."""
    most = max(widths)
    shrunk = list(widths)
    while sum(shrunk) > total and most > 0:
        most -= 1
        shrunk = [min(width, max(low, most)) for width, low in zip(widths, least, strict=True)]
    return shrunk


def _width(text: str) -> int:
    return max((cell_len(line) for line in text.split("\n")), default=0)
