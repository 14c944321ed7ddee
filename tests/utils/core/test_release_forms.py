"""Tables from outside as rows of a form: every value that is wrong, with its row."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import AliasChoices, Field

from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.fields import Cell, ClipName, Key, OneOf, Text
from lmms_eval_tasks.utils.core.forms import ReleaseRow, read_csv_form, read_json_form


class ClipRow(ReleaseRow):
    name: Annotated[ClipName, Field(validation_alias=AliasChoices("name", "filename"))]
    kind: Annotated[str, OneOf(("Red", "Blue"))]
    note: Cell = "none"


class Person(ReleaseRow):
    id: Annotated[int | str, Key]
    name: Text
    years: list[int] = Field(default_factory=list, max_length=2)


def test_a_column_may_have_another_name_and_a_missing_one_is_said_once() -> None:
    problems = Problems()
    rows = read_csv_form(ClipRow, b"filename,kind\na//b.mp4,Red\n", "clips.csv", problems)
    assert [(row.name, row.note, row.where) for row in rows] == [("a/b.mp4", "none", "clips.csv, row 2")]
    assert rows.columns == ["filename", "kind"] and not problems
    assert not read_csv_form(ClipRow, b"kind,kind\nRed,Red\n", "clips.csv", problems)
    assert problems.first == (
        "clips.csv: Expected a column name or filename, but the columns are kind, kind.",
        "clips.csv: Expected each column once, but got kind again.",
    )


@pytest.mark.parametrize(
    ("exact", "found"),
    [
        (True, ["clips.csv, row 2: Expected 3 cells, but got 0.", "clips.csv, row 4: Expected 3 cells, but got 2."]),
        (False, []),
    ],
)
def test_a_users_file_may_have_empty_lines_and_short_rows(exact: bool, found: list[str]) -> None:
    problems = Problems()
    rows = read_csv_form(ClipRow, b"name,kind,note\n\na,Red,x\nb,Blue\nc,red,y\n", "clips.csv", problems, exact=exact)
    place = "row 5" if exact else "line 5"
    assert list(problems.first) == [*found, f"clips.csv, {place}: Expected kind to be one of Red, Blue, but got `red`."]
    assert [(row.place, row.note) for row in rows] == ([("row 3", "x")] if exact else [("line 3", "x"), ("line 4", "")])
    assert len(rows.refused) == (3 if exact else 1)


@pytest.mark.parametrize(
    ("content", "lines", "found"),
    [
        (b"", False, "people: Expected JSON in UTF-8, but got: Expecting value: line 1 column 1 (char 0)."),
        (b"{}", False, "people: Expected a list of objects, but got `{}`."),
        (b"[]", False, "people: Expected rows, but got none."),
        (b"\n\n", True, "people: Expected rows, but got none."),
        (b"[7]", False, "people, entry 1: Expected an object, but got `7`."),
        (b'\n{"id"', True, "people, line 2: Expected a JSON object in UTF-8, but got: Expecting ':' delimiter"),
        (
            b'{"name": "A"}',
            True,
            "people, line 1 (id missing): Expected id to be a whole number or a text, but got `null`.",
        ),
        (b'{"id": 1, "name": null}', True, "people, line 1 (id 1): Expected a name, but got none."),
        (b'{"id": 0, "name": 7}', True, "people, line 1 (id 0): Expected a name, but got `7`."),
        (
            b'{"id": 1, "name": "A", "years": [1, "x"]}',
            True,
            "people, line 1 (id 1): Expected years, entry 2 to be a whole number, but got `x`.",
        ),
        (b'[{"id": 1, "name": "A"}, {"id": "1", "name": "B"}]', False, "people, entry 2 (id 1): Expected each id once"),
    ],
)
def test_json_that_is_not_of_its_form(content: bytes, lines: bool, found: str) -> None:
    problems = Problems()
    read_json_form(Person, content, "people", problems, lines=lines)
    assert problems.first[0].startswith(found)


def test_a_table_that_is_read_already_has_the_columns_of_its_first_row() -> None:
    problems = Problems()
    table = [{"id": 1, "name": "A", "other": float("nan")}, {"id": 2, "name": " "}]
    rows = read_json_form(Person, table, "people", problems)
    assert [row.name for row in rows] == ["A"] and rows.refused == table[1:]
    assert problems.first == ("people, row 2 (id 2): Expected a name, but got none.",)
    assert not read_json_form(Person, [{"name": "A"}], "people", problems)
    assert problems.first[1] == "people: Expected a column id, but the columns are name."
