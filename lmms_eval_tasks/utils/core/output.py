"""Output of commands: tables, notes, warnings and progress on a terminal, or one document in another format."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from math import isfinite
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.forms import csv_text
from lmms_eval_tasks.utils.core.text import printable_lines
from lmms_eval_tasks.utils.core.work import Progress


class Mark(str, Enum):
    """Mark of a number: the side of a bound on which it lies, or that it differs."""

    ABOVE = "above"
    BELOW = "below"
    OPEN = "open"
    DIFFERS = "differs"


EXPLAINED = {
    Mark.ABOVE: "the printed 95% interval of the score lies above this figure",
    Mark.BELOW: "the printed 95% interval of the score lies below this figure",
    Mark.OPEN: "the printed 95% interval of the score contains this figure",
    Mark.DIFFERS: "p < 0.05, adjusted by Holm's method for the comparisons of the table",
}
"""Meaning of each mark of a number."""


GRID = 9
"""Decimals to which a value is first rounded. A score is counts over n, of at most millions of groups, so that two of
its values differ before that; what comes later is left by sums of the same counts in another order, and would tip a
value that lies halfway between two printed ones."""


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

    def side_of(self, figure: float) -> Mark | None:
        """The side of a figure on which its interval lies, by the digits that are printed; None without an interval."""
        if self.low is None or self.high is None:
            return None
        low, other, high = (self._rounded(value) for value in (self.low, figure, self.high))
        return Mark.ABOVE if low > other else Mark.BELOW if high < other else Mark.OPEN

    def _written(self, value: float) -> str:
        return f"{self._rounded(value):{'+' if self.signed else ''}.{self.digits}f}"

    def _rounded(self, value: float) -> float:
        # What is rounded to 0 has no minus sign.
        return round(round(value, GRID), self.digits) + 0.0


NO_INTERVAL = " (no interval)"
"""What follows a score whose groups cannot be drawn otherwise."""

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


class Format(str, Enum):
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


@dataclass
class Document:
    command: str
    tables: list[FittingTable] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    version: str = lmms_eval_tasks.__version__


def write_document(document: Document, form: Format) -> str:
    """Return a document in a format; warnings stand with the numbers in all of them."""
    text = _WRITERS[form](document)
    return text if form is Format.JSON else printable_lines(text)


def _as_json(document: Document) -> str:
    names = ("title", "columns", "names", "rows", "caption", "signature", "warnings")
    tables = [
        {
            **{name: getattr(table, name, None) for name in names},
            "columns": list(table.headings),
            "rows": [[cell.to_json() if isinstance(cell, Number) else cell for cell in row] for row in table.rows],
        }
        for table in document.tables
    ]
    value = {
        "command": document.command,
        "lmms_eval_tasks": document.version,
        "warnings": document.warnings,
        "tables": tables,
        "notes": document.notes,
    }
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


CSV_COLUMNS = (
    "table", "row", "column", "value", "low", "high", "n", "unit", "of", "mark", "text", "signature", "warnings"
)  # fmt: skip


def _as_csv(document: Document) -> str:
    rows: list[Mapping[str, object]] = []
    for table in document.tables:
        warnings = " ".join([*document.warnings, *table.warnings])
        common = {"table": table.title, "signature": table.signature, "warnings": warnings}
        for row in table.rows:
            name = " / ".join(filter(None, map(cell_text, row[: table.names])))
            for heading, cell in zip(table.headings[table.names :], row[table.names :], strict=True):
                value: Mapping[str, object] = {"value" if isinstance(cell, int) else "text": cell}
                if isinstance(cell, Number):
                    value = cell.to_json()
                if cell != "":
                    rows.append({**common, "row": name, "column": heading, **value})
    return csv_text(CSV_COLUMNS, rows)


def _as_markdown(document: Document) -> str:
    blocks = []
    for table in document.tables:
        marked = [
            [cell_text(cell) + " *" * (isinstance(cell, Number) and cell.mark is Mark.DIFFERS) for cell in row]
            for row in table.rows
        ]
        rules = [":--" if text else "--:" for text in _text_columns(table)]
        lines = [list(map(_markdown, table.headings)), rules, *(list(map(_markdown, row)) for row in marked)]
        signs = ("*" if mark is Mark.DIFFERS else mark.value for mark in _marks(table))
        notes = [f"{sign}: {EXPLAINED[mark]}" for mark, sign in zip(_marks(table), signs, strict=True)]
        notes += [*table.caption.splitlines(), table.signature]
        blocks += [
            f"### {_markdown(table.title)}" if table.title else "",
            "\n>\n".join(f"> **{_markdown(warning)}**" for warning in (*document.warnings, *table.warnings)),
            "\n".join(" | ".join(["", *line, ""]).strip() for line in lines),
            "\n\n".join(_markdown(note) for note in notes if note),
        ]
    return "\n\n".join(filter(None, blocks or [f"> **{_markdown(one)}**" for one in document.warnings])) + "\n"


def _markdown(text: str) -> str:
    """Return a text in which nothing is markup, on one line."""
    escaped = "".join(f"\\{char}" if char in "\\`*_|#~$" else char for char in text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def _as_latex(document: Document) -> str:
    tables = [_latex_table(table, document.warnings) for table in document.tables]
    first = f"% lmms-eval-tasks {document.version}, {document.command}. It needs \\usepackage{{booktabs}}.\n"
    return first + "\n".join(tables or [f"% {' '.join(one.split())}\n" for one in document.warnings])


def _latex_table(table: FittingTable, warnings: Sequence[str]) -> str:
    from pandas import DataFrame

    columns: dict[str, list[str]] = {}
    letters, headings = "", []
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.headings)
    for place, (heading, text, column) in enumerate(zip(table.headings, _text_columns(table), cells, strict=True)):
        intervals = [cell.interval_text if isinstance(cell, Number) else "" for cell in column]
        letters += "l" if text else "r"
        headings.append(_latex(heading))
        columns[str(place)] = [_latex_cell(cell) for cell in column]
        if any(intervals):
            letters += "r"
            headings.append(r"95\% interval")
            columns[f"{place} interval"] = list(map(_latex, intervals))
    caption = [
        *_sentences(table.title),
        *(rf"\textbf{{{text}}}" for text in _sentences(*warnings, *table.warnings)),
        *(f"{_LATEX_MARKS[mark]}: {text}" for mark in _marks(table) for text in _sentences(EXPLAINED[mark])),
        *_sentences(*table.caption.splitlines(), table.signature),
    ]
    frame = DataFrame(columns, dtype=object)
    frame.columns = headings
    style = frame.style.hide(axis="index")
    return str(
        style.to_latex(hrules=True, column_format=letters, caption=" ".join(caption), position_float="centering")
    )


def _latex_cell(cell: Cell) -> str:
    if not isinstance(cell, Number):
        return _latex(cell_text(cell))
    return _latex(cell.value_text) + (_LATEX_MARKS[cell.mark] if cell.mark else "")


_LATEX_MARKS = {
    Mark.ABOVE: r"$^{\uparrow}$",
    Mark.BELOW: r"$^{\downarrow}$",
    Mark.OPEN: r"$^{\circ}$",
    Mark.DIFFERS: "$^{*}$",
}
_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "×": r"$\times$", "[": "{[}", "]": "{]}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}  # fmt: skip


def _latex(text: str) -> str:
    """Return a text in which nothing is a command, on one line."""
    escaped = "".join(_LATEX_ESCAPES.get(char, char) for char in text)
    # Two hyphens in a row would be one dash.
    return " ".join(re.sub("-(?=-)", "-{}", escaped).split())


def _sentences(*texts: str) -> list[str]:
    return [f"{_latex(text).rstrip('.')}." for text in texts if text.strip()]


def _marks(table: FittingTable) -> list[Mark]:
    used = {cell.mark for row in table.rows for cell in row if isinstance(cell, Number)}
    return [mark for mark in Mark if mark in used]


def _text_columns(table: FittingTable) -> list[bool]:
    return [
        not any(isinstance(row[column], int | Number) for row in table.rows) for column in range(len(table.headings))
    ]


_WRITERS: Mapping[Format, Callable[[Document], str]] = {
    Format.JSON: _as_json,
    Format.CSV: _as_csv,
    Format.MARKDOWN: _as_markdown,
    Format.LATEX: _as_latex,
}

WIDEST = 100
ENDLESS = 1_000_000
"""Columns that no row needs."""


def text_table(
    title: str | None, *columns: str, names: int = 1, numbers: bool | None = None, blank_repeats: bool = False
) -> FittingTable:
    """An empty table; its ``add_row`` takes a text or a count for each column, and a console prints it at any width.

    Args:
        title: What stands above it. Without one, the columns that are no names hold numbers, which stand to the right.
        columns: Headings of the columns.
        names: How many columns, the first ones, hold names.
        numbers: Whether the columns that are no names hold numbers, where the title does not say so.
        blank_repeats: Whether a terminal shows a name only where it is not that of the row above.
    """
    numbers = title is None if numbers is None else numbers
    return FittingTable(title, columns, names, numbers, padding=1, blank_repeats=blank_repeats)


def make_console(stderr: bool = False) -> Console:
    """Rich's console, at most 100 columns wide; into a file or a pipe it writes 100, and each row of a table whole.

    No text of a release or of a model can give the terminal orders, and brackets in it are no markup.

    Args:
        stderr: Whether it prints on standard error, instead of standard output.
    """

    class SafeConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable_lines(text), **options)

        def print(self, *objects: Any, **options: Any) -> None:
            width = self.width
            if not self.is_terminal and any(isinstance(one, FittingTable) for one in objects):
                self.width = ENDLESS
            super().print(*objects, **options)
            self.width = width

    console = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    # A file or a pipe has no width of its own, and rich would take 80 columns for it.
    console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


@contextmanager
def show_progress() -> Iterator[Progress]:
    """A bar on stderr for each kind of work, in a `with` block; nothing is shown where stderr is no terminal.

    It gives the function to call, as `Progress` says: what is being done, how many are done, and how many there are.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, Any] = {}

    def advance(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield advance


class Output:
    """Output of a command, printed at once if it has no format."""

    def __init__(self, command: str, form: Format | None = None) -> None:
        self._console = make_console(stderr=form is not None)
        self._form = form
        self.document = Document(command)

    def table(self, table: FittingTable, gap: bool = False) -> None:
        self.document.tables.append(table)
        if self._form is None:
            self._console.print(*([""] if gap else []), table)

    def note(self, text: str, style: str | None = None, indent: int = 0, whole: bool = False) -> None:
        self.document.notes.append(text.strip())
        self._print(text, style, indent, whole)

    def warn(self, text: str, style: str = "bold red", indent: int = 0, whole: bool = False) -> None:
        """Say what has to be known before the numbers are read; it stays with them in every format."""
        self.document.warnings.append(text.strip())
        self._print(text, style, indent, whole)

    def _print(self, text: str, style: str | None, indent: int, whole: bool) -> None:
        shown = Padding(text, (0, 0, 0, indent), expand=False) if indent else text
        self._console.print(shown, style=style, soft_wrap=whole)


@contextmanager
def open_output(command: str, form: Format | None = None) -> Iterator[Output]:
    """Give an output, whose document is written where there is a format and the block ends well."""
    output = Output(command, form)
    yield output
    if form is not None:
        sys.stdout.write(write_document(output.document, form))
