"""Tables in the formats that other programs and papers take."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from lmms_eval_tasks.utils.core.output import (
    Cell,
    Document,
    FittingTable,
    Format,
    Mark,
    Number,
    make_console,
    text_table,
    write_document,
)

HOSTILE = "a_b & 50% $x$ #1 {y} ~ ^ \\end{table} [z] | <b> \x1b[31m \u202e \udc80"
cells = st.one_of(
    st.text(max_size=12), st.integers(-5, 5000),
    st.builds(
        Number, st.none() | st.floats(-200, 200), st.just(-3.25) | st.none(), st.just(9.5),
        st.none() | st.integers(0, 50), st.sampled_from(["", "%", "points"]), of=st.text(max_size=6),
        mark=st.none() | st.sampled_from(Mark),
    ),
)  # fmt: skip


def table_of(rows: list[tuple[Cell, ...]], headings: tuple[str, ...] = ("run", "score", "p")) -> FittingTable:
    table = FittingTable("task_1; 5%", headings)
    table.caption, table.signature = "share 2 items", "version 1-A; 10,000 draws, seed 0"
    table.warnings.append("SAMPLE DATA")
    for row in rows:
        table.add_row(*row)
    return table


ROWS: list[tuple[Cell, ...]] = [
    ("weak_run", Number(33.3333, 22.04, 45.96, 60, "%", mark=Mark.DIFFERS), Number(0.0004, digits=3, least=0.001)),
    ("other", Number(None, unit="%"), 1234),
]


def write(form: Format, *tables: FittingTable) -> str:
    document = Document("compare", list(tables), ["NOT THE OFFICIAL RELEASE"], ["a note"], version="0.1.0")
    return write_document(document, form)


def test_each_format_holds_the_numbers_the_warnings_and_what_explains_them(expected: Expected) -> None:
    expected("\n".join(write(form, table_of(ROWS), table_of(ROWS)) for form in Format))
    for form in Format:
        assert form is Format.CSV or "NOT THE OFFICIAL RELEASE" in write(form)


def columns_of_row(line: str) -> int:
    return len(re.findall(r"(?<!\\)&", line)) + 1


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(st.text(max_size=8), cells, cells), max_size=4), st.text(max_size=20))
def test_no_text_breaks_a_table(rows: list[tuple[Cell, ...]], name: str) -> None:
    """Each row has the columns that are declared, whatever its texts hold; nothing in them is markup or a comment."""
    table = table_of([*rows, (name + HOSTILE, HOSTILE, Number(1.0, 0.0, 2.0, of=HOSTILE))])
    latex = write(Format.LATEX, table)
    (letters,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", latex)
    body = latex.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()
    assert len(body) == len(table.rows) and {columns_of_row(line) for line in body} == {len(letters)}
    assert all(line.endswith(r" \\") for line in body)
    bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}", "", latex)
    bare = re.sub(r"\\[&%$#_{}\\]", "", bare).partition("\n")[2]
    assert bare.count("{") == bare.count("}") and not set("%#~|<>") & set(bare)
    markdown = write(Format.MARKDOWN, table).splitlines()
    start = next(number for number, line in enumerate(markdown) if line.startswith("| :--") or line.startswith("| --"))
    for line in markdown[start - 1 : start + 1 + len(table.rows)]:
        assert len(re.findall(r"(?<!\\)\|", line.replace("\\\\", ""))) == len(table.headings) + 1
    assert "<b>" not in "\n".join(markdown)
    lines = list(csv.DictReader(io.StringIO(write(Format.CSV, table))))
    assert len(lines) == sum(cell != "" for row in table.rows for cell in row[1:])
    assert json.loads(write(Format.JSON, table))["tables"][0]["columns"] == list(table.headings)
    for form in Format:
        assert all(char.isprintable() or char == "\n" for char in write(form, table))


def test_no_text_gives_the_terminal_orders(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b[31m\x9b2J\x07\r\udc80[bold]b[/bold] :smile:\u202e"
    console = make_console()
    console.print(f"first\n{hostile}")
    table = text_table(None, hostile, "b\x1b[1m")
    table.add_row("c\x1b[1m", "[red]d")
    console.print(table)
    printed = capsys.readouterr().out
    assert printed.count(r"a\x1b[31m\x9b2J\x07\r\udc80[bold]b[/bold] :smile:\u202e") == 2
    for cell in (r"b\x1b[1m", r"c\x1b[1m", "[red]d"):
        assert cell in printed
    assert all(char.isprintable() or char == "\n" for char in printed)


NAMES = ("qwen2_5_vl Qwen2.5-VL-72B-Instruct", "internvl3 InternVL3-78B", "replay")
HEADINGS = ("model", "pair accuracy", "single accuracy", "official pair accuracy", "unparsed", "unscored", "pairs")


def show(table: FittingTable, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table)
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert max(map(len, lines)) <= width
    return "\n".join(lines)


@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_a_table_that_is_too_wide_folds_and_intervals_last(width: int, expected: Expected) -> None:
    long = "org/" + "long-" * 30 + "end"
    tables = [FittingTable("a title", HEADINGS) for _ in range(3)]
    for table, names in zip(tables, (NAMES, [long], []), strict=True):
        for name in names:
            table.add_row(name, Number(50.0, 40.1, 60.2), Number(70.1, 65.0, 75.0), "49.0", "0.0", "0.0", "1,000")
    settings = FittingTable("settings", ("field", "value"), numbers=False, padding=1)
    settings.add_row("text", "word " * 40)
    expected("\n".join(show(table, width) for table in (*tables, settings)))
