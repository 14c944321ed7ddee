"""Tables in the formats that other programs and papers take."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.output import CSV_COLUMNS, Document, Format, write_document
from lmms_eval_tasks.utils.core.table import Cell, FittingTable, Mark, Number

HOSTILE = "a_b & 50% $x$ #1 {y} ~ ^ \\end{table} [z] | <b> \x1b[31m \u202e \udc80"
cells = st.one_of(
    st.text(max_size=12),
    st.integers(-5, 5000),
    st.builds(
        Number,
        st.none() | st.floats(-200, 200),
        st.just(-3.25) | st.none(),
        st.just(9.5),
        st.none() | st.integers(0, 50),
        st.sampled_from(["", "%", "points"]),
        of=st.text(max_size=6),
        mark=st.none() | st.sampled_from(Mark),
    ),
)


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
    document = Document("compare", "0.1.0", list(tables), ["NOT THE OFFICIAL RELEASE"], ["a note"])
    return write_document(document, form)


def test_json_is_one_document_with_everything() -> None:
    value = json.loads(write(Format.JSON, table_of(ROWS)))
    assert (value["command"], value["warnings"], value["notes"]) == (
        "compare",
        ["NOT THE OFFICIAL RELEASE"],
        ["a note"],
    )
    (table,) = value["tables"]
    assert table["columns"] == ["run", "score", "p"] and table["warnings"] == ["SAMPLE DATA"]
    assert table["signature"] == "version 1-A; 10,000 draws, seed 0"
    number = {"value": 33.3333, "low": 22.04, "high": 45.96, "n": 60, "unit": "%", "mark": "differs"}
    assert table["rows"] == [["weak_run", number, {"value": 0.0004}], ["other", {"value": None, "unit": "%"}, 1234]]


def test_csv_has_a_line_for_each_value_and_warnings_on_each() -> None:
    lines = list(csv.DictReader(io.StringIO(write(Format.CSV, table_of(ROWS), table_of(ROWS)))))
    assert len(lines) == 8 and tuple(lines[0]) == CSV_COLUMNS
    first = lines[0]
    assert [first[name] for name in ("row", "column", "value", "low", "high", "n", "unit")] == [
        "weak_run", "score", "33.3333", "22.04", "45.96", "60", "%",
    ]  # fmt: skip
    assert {line["warnings"] for line in lines} == {"NOT THE OFFICIAL RELEASE SAMPLE DATA"}
    assert {line["signature"] for line in lines} == {"version 1-A; 10,000 draws, seed 0"}


def test_markdown_keeps_warnings_with_each_table() -> None:
    text = write(Format.MARKDOWN, table_of(ROWS), table_of(ROWS))
    assert text.count("> **NOT THE OFFICIAL RELEASE**") == text.count("> **SAMPLE DATA**") == 2
    assert "| weak\\_run | 33.3 [22.0, 46.0] \\* | &lt;0.001 |\n| other | N/A | 1,234 |" in text
    assert "| :-- | --: | --: |" in text and "seed 0" in text


def test_latex_has_rules_escaped_names_intervals_in_a_column_and_a_caption_that_explains() -> None:
    text = write(Format.LATEX, table_of(ROWS))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index(r"\toprule") + 1 : lines.index(r"\bottomrule")] == [
        r"run & score & 95\% interval & p \\",
        r"\midrule",
        r"weak\_run & 33.3$^{*}$ & {[}22.0, 46.0{]} & \textless{}0.001 \\",
        r"other & N/A &  & 1,234 \\",
    ]
    (caption,) = [line for line in lines if line.startswith(r"\caption{")]
    assert caption == (
        r"\caption{task\_1; 5\%. \textbf{NOT THE OFFICIAL RELEASE.} \textbf{SAMPLE DATA.} $^{*}$: p \textless{} 0.05, "
        r"adjusted by Holm's method for the comparisons of the table. share 2 items. version 1-A; 10,000 draws, seed "
        r"0.}"
    )


def columns_of_row(line: str) -> int:
    return len(re.findall(r"(?<!\\)&", line)) + 1


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


@pytest.mark.parametrize("form", Format)
def test_what_has_no_table_still_has_its_warnings(form: Format) -> None:
    text = write(form)
    assert form is Format.CSV or "NOT THE OFFICIAL RELEASE" in text
