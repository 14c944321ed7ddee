"""Output of commands: tables, notes, warnings and progress on a terminal, or one document in another format."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.table import EXPLAINED, Cell, FittingTable, Mark, Number, cell_text
from lmms_eval_tasks.utils.core.text import printable_lines
from lmms_eval_tasks.utils.core.work import Progress


class Format(str, Enum):
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


@dataclass
class Document:
    command: str
    version: str
    tables: list[FittingTable] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
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
                    writer.writerow({**common, "row": name, "column": heading, **value})
    return text.getvalue()


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
        self.document = Document(command, lmms_eval_tasks.__version__)

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
