"""Tables, with what has to be known of them, as texts for other programs and for papers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.cells import EXPLAINED, Cell, Mark, Number, cell_text
from lmms_eval_tasks.utils.core.wording import printable_lines

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.tables import FittingTable


class Format(str, Enum):
    """How a command writes its tables, where not for a terminal."""

    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


@dataclass
class Document:
    """What a command has to say."""

    command: str
    version: str
    tables: list[FittingTable] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def write_document(document: Document, form: Format) -> str:
    """A document in a format; warnings stand with the numbers in all of them."""
    text = _WRITERS[form](document)
    return text if form is Format.JSON else printable_lines(text)


def _as_json(document: Document) -> str:
    tables = [
        {
            "title": table.title,
            "columns": list(table.headings),
            "names": table.names,
            "rows": [[cell.to_json() if isinstance(cell, Number) else cell for cell in row] for row in table.rows],
            "caption": table.caption,
            "signature": table.signature,
            "warnings": table.warnings,
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
"""Columns of CSV."""


def _as_csv(document: Document) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for table in document.tables:
        common = {
            "table": table.title,
            "signature": table.signature,
            "warnings": " ".join([*document.warnings, *table.warnings]),
        }
        for row in table.rows:
            name = " / ".join(filter(None, map(cell_text, row[: table.names])))
            for heading, cell in zip(table.headings[table.names :], row[table.names :], strict=True):
                if cell != "":
                    writer.writerow({**common, "row": name, "column": heading, **_csv_fields(cell)})
    return text.getvalue()


def _csv_fields(cell: Cell) -> Mapping[str, object]:
    if isinstance(cell, Number):
        return cell.to_json()
    return {"value": cell} if isinstance(cell, int) else {"text": cell}


def _as_markdown(document: Document) -> str:
    blocks = []
    for table in document.tables:
        warnings = [f"> **{_markdown(warning)}**" for warning in (*document.warnings, *table.warnings)]
        rows = [" | ".join(["", *map(_markdown, map(_marked_text, row)), ""]).strip() for row in table.rows]
        rule = " | ".join(["", *(":--" if text else "--:" for text in _text_columns(table)), ""]).strip()
        headings = " | ".join(["", *map(_markdown, table.headings), ""]).strip()
        signs = {mark: "*" if mark is Mark.DIFFERS else mark.value for mark in _marks(table)}
        notes = [f"{sign}: {EXPLAINED[mark]}" for mark, sign in signs.items()]
        notes += [*table.caption.splitlines(), table.signature]
        blocks += [
            f"### {_markdown(table.title)}" if table.title else "",
            "\n>\n".join(warnings),
            "\n".join([headings, rule, *rows]),
            "\n\n".join(_markdown(note) for note in notes if note),
        ]
    return "\n\n".join(filter(None, blocks or [f"> **{_markdown(one)}**" for one in document.warnings])) + "\n"


def _marked_text(cell: Cell) -> str:
    marked = isinstance(cell, Number) and cell.mark is Mark.DIFFERS
    return f"{cell_text(cell)} *" if marked else cell_text(cell)


def _markdown(text: str) -> str:
    """A text in which nothing is markup, on one line."""
    escaped = "".join(f"\\{char}" if char in "\\`*_|#~$" else char for char in text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def _as_latex(document: Document) -> str:
    tables = [_latex_table(table, document.warnings) for table in document.tables]
    first = f"% lmms-eval-tasks {document.version}, {document.command}. It needs \\usepackage{{booktabs}}.\n"
    return first + "\n".join(tables or [f"% {' '.join(one.split())}\n" for one in document.warnings])


def _latex_table(table: FittingTable, warnings: Sequence[str]) -> str:
    spans = [
        any(isinstance(row[column], Number) and row[column].interval_text for row in table.rows)  # type: ignore[union-attr]
        for column in range(len(table.headings))
    ]
    letters, headings = "", []
    for heading, text, spanned in zip(table.headings, _text_columns(table), spans, strict=True):
        letters += ("l" if text else "r") + ("r" if spanned else "")
        headings += [_latex(heading), *([r"95\% interval"] if spanned else [])]
    rows = [
        [text for cell, spanned in zip(row, spans, strict=True) for text in _latex_cells(cell, spanned)]
        for row in table.rows
    ]
    lines = ["  " + " & ".join(row) + r" \\" for row in rows]
    caption = [
        *_sentences(table.title),
        *(rf"\textbf{{{text}}}" for text in _sentences(*warnings, *table.warnings)),
        *(f"{_LATEX_MARKS[mark]}: {text}" for mark in _marks(table) for text in _sentences(EXPLAINED[mark])),
        *_sentences(*table.caption.splitlines(), table.signature),
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{' '.join(caption)}}}",
            rf"\begin{{tabular}}{{{letters}}}",
            r"\toprule",
            "  " + " & ".join(headings) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


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
    """A text in which nothing is a command, on one line."""
    escaped = "".join(_LATEX_ESCAPES.get(char, char) for char in text)
    # Two hyphens in a row would be one dash.
    return " ".join(re.sub("-(?=-)", "-{}", escaped).split())


def _latex_cells(cell: Cell, spanned: bool) -> list[str]:
    """The cell of a number, and that of its interval where its column has one."""
    if not isinstance(cell, Number):
        return [_latex(cell_text(cell)), *([""] if spanned else [])]
    mark = _LATEX_MARKS[cell.mark] if cell.mark else ""
    return [_latex(cell.value_text) + mark, *([_latex(cell.interval_text)] if spanned else [])]


def _sentences(*texts: str) -> list[str]:
    """Texts for a caption, each with a full stop; empty ones are left out."""
    return [f"{_latex(text).rstrip('.')}." for text in texts if text.strip()]


def _marks(table: FittingTable) -> list[Mark]:
    used = {cell.mark for row in table.rows for cell in row if isinstance(cell, Number) and cell.mark}
    return [mark for mark in Mark if mark in used]


def _text_columns(table: FittingTable) -> list[bool]:
    """Which columns hold texts alone."""
    return [
        not any(isinstance(row[column], int | Number) for row in table.rows) for column in range(len(table.headings))
    ]


_WRITERS: Mapping[Format, Callable[[Document], str]] = {
    Format.JSON: _as_json,
    Format.CSV: _as_csv,
    Format.MARKDOWN: _as_markdown,
    Format.LATEX: _as_latex,
}
