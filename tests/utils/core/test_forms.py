"""CSV, JSON and Parquet from outside: checked rows, and one sentence for each thing that is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, Field

from lmms_eval_tasks.utils.core import forms
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.fields import Cell, ClipName, Key, OneOf, Text
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import (
    ReleaseRow,
    RowForm,
    as_lines,
    read_csv,
    read_csv_form,
    read_json,
    read_json_form,
    read_object,
    read_parquet,
    read_released_json,
    read_rows,
)


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises((InputError, ValueError)) as refused:
        read()
    return str(refused.value)


def csv_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_csv_rows_have_their_place_and_empty_cells_for_those_they_lack(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '\ufeff a ,b\r\n1,"x\ny"\r\n\r\n2\r\n')
    assert list(read_csv(path, ["a"])) == [
        ("t.csv, line 3", {"a": "1", "b": "x\ny"}),
        ("t.csv, line 5", {"a": "2", "b": ""}),
    ]
    ((_, row),) = read_csv(csv_file(tmp_path, f"a\n{'x' * 200_000}\n"), ["a"])
    assert len(row["a"]) == 200_000


def test_what_is_no_csv_table_is_refused(tmp_path: Path, expected: Expected) -> None:
    wrong = ["b\n", "", "a,b,b\n", "a,b\n1,2,3\n", 'a\n"x', b"a\n\xff\n"]
    told = [refusal(lambda text=text: list(read_csv(csv_file(tmp_path, text), ["a"]))) for text in wrong]  # type: ignore[misc]
    expected("\n".join([*told, refusal(lambda: list(read_csv(Path("/dev/zero"), ["a"])))]))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**200), 10**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=40)
@given(VALUES, st.text())
def test_what_json_has_is_read_and_no_text_raises_anything_but_a_reason(value: object, text: str) -> None:
    assert read_json(json.dumps(value)) == value
    try:
        read_json(text)
    except ValueError as error:
        assert str(error)


def test_what_json_has_not_is_said(expected: Expected) -> None:
    wrong = ["NaN", '{"a": [-Infinity]}', '{"a": 1, "b": {"a": 1, "a": 2}}', "{} {}", '{"a": 1', "", "1" * 301]
    expected("\n".join(refusal(lambda text=text: read_json(text)) for text in [*wrong, "[" * 1_000_000]))  # type: ignore[misc]
    assert read_json("1" * 300) == int("1" * 300)


def test_a_release_may_hold_what_python_reads_but_no_lone_surrogate(expected: Expected) -> None:
    for text in ('"\\ud83d\\ude00"', '["é", NaN, 1e400]', '{"a": 1, "a": 2}', '"\\\\ud800"'):
        assert repr(read_released_json(f"\ufeff{text}".encode())) == repr(json.loads(text))
    wrong = ['"\\ud800"', '{"\\uDFFF": 1}', '["\\ude00\\ud83d"]', "[" * 100_000, "[", b"\xff"]
    expected("\n".join(refusal(lambda text=text: read_released_json(text)) for text in wrong))  # type: ignore[misc]


def test_rows_are_lines_in_order_and_a_lone_surrogate_does_not_lose_the_file(tmp_path: Path) -> None:
    rows = [{"row_id": "b", "model_answer": "它"}, {"row_id": "a", "model_answer": "\\\ud800 它 \ud83d"}]
    lines = as_lines(rows)
    assert lines.startswith('{"row_id": "b", "model_answer": "它"}\n') and lines.count("\n") == 2
    write_file(tmp_path / "1.jsonl", lines)
    assert [json.loads(line) for line in (tmp_path / "1.jsonl").read_bytes().splitlines()] == rows


class Named(RowForm):
    name: str


class Trio(RowForm):
    clips: list[str] = Field(min_length=3, max_length=3)


class Pair(RowForm):
    clips: tuple[str, str]


def told(issues: Problems) -> str:
    try:
        issues.raise_if_any("It")
    except InputError as error:
        return str(error)
    return "It is right."


def test_rows_of_a_form_with_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected) -> None:
    path = tmp_path / "f"

    def read(form: type[RowForm], text: str) -> tuple[list[tuple[str, RowForm]], str]:
        path.write_text(text, encoding="utf-8")
        issues = Problems()
        return list(read_rows(path, form, issues)), told(issues)

    rows, names = read(Named, '{"name": "a"}\n{"name": 1}\n  {"name": "\u2028"} \n{"name": "b"}')
    assert [(where, row.name) for where, row in rows] == [("line 1", "a"), ("line 3", "\u2028"), ("line 4", "b")]  # type: ignore[attr-defined]
    lists = '{"clips": ["a", "b"]}\n{"clips": ["a", "b", "c", "d"]}\n'
    (none, trio), (nor, pair) = read(Trio, lists), read(Pair, lists)
    monkeypatch.setattr(forms, "LONGEST_LINE", 20)
    one, long = read(Named, '{"name": "a"}\n{"name": "' + "a" * 30 + '"}\n{"name": "b"}\n')
    assert (none, nor, len(one)) == ([], [], 1)
    expected("\n".join([names, trio, pair, long]))


def test_one_object(tmp_path: Path, expected: Expected) -> None:
    messages = []
    for content in (b'{"name": "a"}', b"null", b"\xef\xbb\xbf{}", b"\xff", b"{"):
        (tmp_path / "f").write_bytes(content)
        issues = Problems()
        assert (read_object(tmp_path / "f", Named, issues) is None) == bool(issues)
        messages.append(told(issues))
    expected("\n".join(messages))


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


@pytest.mark.parametrize("exact", [True, False])
def test_a_users_file_may_have_empty_lines_and_short_rows(exact: bool, expected: Expected) -> None:
    problems = Problems()
    rows = read_csv_form(ClipRow, b"name,kind,note\n\na,Red,x\nb,Blue\nc,red,y\n", "clips.csv", problems, exact=exact)
    assert [(row.place, row.note) for row in rows] == ([("row 3", "x")] if exact else [("line 3", "x"), ("line 4", "")])
    assert len(rows.refused) == (3 if exact else 1)
    expected("\n".join(problems.first))


def test_json_that_is_not_of_its_form(expected: Expected) -> None:
    messages = []
    for content in (b"", b"{}", b"[]", b"[7]", b'[{"id": 1, "name": "A"}, {"id": "1", "name": "B"}]'):
        read_json_form(Person, content, "people", problems := Problems())
        messages += problems.first
    for content in (
        b"\n\n",
        b'\n{"id"',
        b'{"name": "A"}',
        b'{"id": 1, "name": null}',
        b'{"id": 0, "name": 7}',
        b'{"id": 1, "name": "A", "years": [1, "x"]}',
    ):
        read_json_form(Person, content, "people", problems := Problems(), lines=True)
        messages += problems.first
    expected("\n".join(messages))


def test_a_table_that_is_read_already_has_the_columns_of_its_first_row() -> None:
    problems = Problems()
    table = [{"id": 1, "name": "A", "other": float("nan")}, {"id": 2, "name": " "}]
    rows = read_json_form(Person, table, "people", problems)
    assert [row.name for row in rows] == ["A"] and rows.refused == table[1:]
    assert not read_json_form(Person, [{"name": "A"}], "people", problems)
    assert problems.first == (
        "people, row 2 (id 2): Expected a name, but got none.",
        "people: Expected a column id, but the columns are name.",
    )


READERS = """
import os, sys
from pathlib import Path
import pyarrow.parquet
from lmms_eval_tasks.utils.core.forms import read_parquet

for _ in range(40):
    child = os.fork()
    if child == 0:
        read_parquet(Path(sys.argv[1]))
        sys.exit(7)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended != 7:
        sys.exit(f"a reader ended with {ended}")
"""


@pytest.mark.slow
def test_names_of_folders_are_no_columns_and_a_process_that_ends_after_reading_is_not_aborted(tmp_path: Path) -> None:
    path = tmp_path / "split=test" / "table.parquet"
    path.parent.mkdir()
    columns = {f"column {number}": [f"{row}" for row in range(300)] for number in range(12)}
    pq.write_table(pa.table(columns), path)
    assert read_parquet(path).column_names == list(columns)
    with pytest.raises(IsADirectoryError):
        read_parquet(path.parent)
    # Where Arrow was given a file that Python had opened, about one reader in fifteen was aborted.
    ended = subprocess.run([sys.executable, "-c", READERS, path], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
