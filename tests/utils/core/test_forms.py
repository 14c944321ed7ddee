"""CSV, JSON and Parquet from outside: checked rows, and one sentence for each thing that is wrong."""

from __future__ import annotations

import json
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
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import (
    Cell,
    ClipName,
    FormRows,
    Key,
    OneOf,
    ReleaseRow,
    RowForm,
    Text,
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


def test_csv_rows_have_their_place_and_what_is_no_table_is_refused(tmp_path: Path, expected: Expected) -> None:
    path = csv_file(tmp_path, '\ufeff a ,b\r\n1,"x\ny"\r\n\r\n2\r\n')
    assert list(read_csv(path, ["a"])) == [
        ("t.csv, line 3", {"a": "1", "b": "x\ny"}), ("t.csv, line 5", {"a": "2", "b": ""}),
    ]  # fmt: skip
    ((_, row),) = read_csv(csv_file(tmp_path, f"a\n{'x' * 200_000}\n"), ["a"])
    assert len(row["a"]) == 200_000
    wrong = ["b\n", "", "a,b,b\n", "a,b\n1,2,3\n", 'a\n"x', b"a\n\xff\n"]
    refusals = [refusal(lambda text=text: list(read_csv(csv_file(tmp_path, text), ["a"]))) for text in wrong]  # type: ignore[misc]
    expected("\n".join([*refusals, refusal(lambda: list(read_csv(Path("/dev/zero"), ["a"])))]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**200), 10**200) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40)
@given(VALUES, st.text())
def test_what_json_has_is_read_and_no_text_raises_anything_but_a_reason(value: object, text: str) -> None:
    assert read_json(json.dumps(value)) == value
    try:
        read_json(text)
    except ValueError as error:
        assert str(error)


def test_what_json_has_not_is_said_and_a_release_may_hold_what_python_reads(expected: Expected) -> None:
    wrong = ["NaN", '{"a": [-Infinity]}', '{"a": 1, "b": {"a": 1, "a": 2}}', "{} {}", '{"a": 1', "", "1" * 301]
    refusals = [refusal(lambda text=text: read_json(text)) for text in [*wrong, "[" * 1_000_000]]  # type: ignore[misc]
    assert read_json("1" * 300) == int("1" * 300)
    for text in ('"\\ud83d\\ude00"', '["é", NaN, 1e400]', '{"a": 1, "a": 2}', '"\\\\ud800"'):
        assert repr(read_released_json(f"\ufeff{text}".encode())) == repr(json.loads(text))
    lone = ['"\\ud800"', '{"\\uDFFF": 1}', '["\\ude00\\ud83d"]', "[" * 100_000, "[", b"\xff"]
    expected("\n".join([*refusals, *(refusal(lambda text=text: read_released_json(text)) for text in lone)]))  # type: ignore[misc]


def test_rows_are_lines_in_order_and_a_lone_surrogate_does_not_lose_the_file(tmp_path: Path) -> None:
    rows = [{"row_id": "b", "model_answer": "它"}, {"row_id": "a", "model_answer": "\\\ud800 它 \ud83d"}]
    lines = as_lines(rows)
    assert lines.startswith('{"row_id": "b", "model_answer": "它"}\n') and lines.count("\n") == 2
    write_file(tmp_path / "1.jsonl", lines)
    assert [json.loads(line) for line in (tmp_path / "1.jsonl").read_bytes().splitlines()] == rows


class Named(RowForm):
    name: str
    clips: list[str] = Field(default=["a", "b", "c"], min_length=3, max_length=3)
    pair: tuple[str, str] = ("a", "b")


def message_of(issues: Problems) -> str:
    return refusal(lambda: issues.raise_if_any("It")) if issues else "It is right."


def test_rows_and_objects_of_a_form_with_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    path = tmp_path / "f"
    messages: list[str] = []

    def read(text: str) -> list[tuple[str, Named]]:
        path.write_text(text, encoding="utf-8")
        issues = Problems()
        rows = list(read_rows(path, Named, issues))
        messages.append(message_of(issues))
        return rows

    rows = read('{"name": "a"}\n{"name": 1}\n  {"name": "\u2028"} \n{"name": "b"}')
    assert [(where, row.name) for where, row in rows] == [("line 1", "a"), ("line 3", "\u2028"), ("line 4", "b")]
    for field in ("clips", "pair"):
        assert not read(
            "".join(f'{{"name": "a", "{field}": {value}}}\n' for value in ('["a"]', '["a", "b", "c", "d"]'))
        )
    monkeypatch.setattr(forms, "LONGEST_LINE", 20)
    assert len(read('{"name": "a"}\n{"name": "' + "a" * 30 + '"}\n{"name": "b"}\n')) == 1
    for content in (b'{"name": "a"}', b"null", b"\xef\xbb\xbf{}", b"\xff", b"{"):
        path.write_bytes(content)
        issues = Problems()
        assert (read_object(path, Named, issues) is None) == bool(issues)
        messages.append(message_of(issues))
    expected("\n".join(messages))


class ClipRow(ReleaseRow):
    name: Annotated[ClipName, Field(validation_alias=AliasChoices("name", "filename"))]
    kind: Annotated[str, OneOf(("Red", "Blue"))]
    note: Cell = "none"


class Version(ReleaseRow):
    item: Annotated[Text, Key]
    version: Annotated[Text, Key]


class Person(ReleaseRow):
    id: Annotated[int | str, Key]
    name: Text
    years: list[int] = Field(default_factory=list, max_length=2)


def test_a_column_may_have_another_name_and_a_missing_one_is_said_once(expected: Expected) -> None:
    def read(content: bytes, exact: bool = True) -> FormRows[ClipRow]:
        rows = read_csv_form(ClipRow, content, "clips.csv", problems := Problems(), exact=exact)
        messages.extend(problems.first)
        return rows

    messages: list[str] = []
    rows = read(b"filename,kind\na//b.mp4,Red\n")
    assert [(row.name, row.note, row.where) for row in rows] == [("a/b.mp4", "none", "clips.csv, row 2")]
    assert rows.columns == ["filename", "kind"] and not messages
    assert not read(b"kind,kind\nRed,Red\n")
    # A user's file may have empty lines and short rows.
    content = b"name,kind,note\n\na,Red,x\nb,Blue\nc,red,y\n"
    strict, lenient = read(content), read(content, exact=False)
    assert ([row.place for row in strict], len(strict.refused)) == (["row 3"], 3)
    assert [(row.place, row.note) for row in lenient] == [("line 3", "x"), ("line 4", "")]
    assert len(lenient.refused) == 1
    expected("\n".join(messages))


def test_rows_with_two_keys_are_named_by_both(expected: Expected) -> None:
    problems = Problems()
    for content in (b"item,version\nq,0\nq,1\nq,0\n,\n", b"name\nq\n"):
        read_csv_form(Version, content, "rows.csv", problems)
    expected("\n".join(problems.first))


def test_json_that_is_not_of_its_form(expected: Expected) -> None:
    messages: list[str] = []
    wrong = [b"", b"{}", b"[]", b"[7]", b'[{"id": 1, "name": "A"}, {"id": "1", "name": "B"}]']
    lines = [b"\n\n", b'\n{"id"', b'{"name": "A"}', b'{"id": 1, "name": null}', b'{"id": 0, "name": 7}']
    lines += [b'{"id": 1, "name": "A", "years": [1, "x"]}']
    for content in (*wrong, *lines):
        read_json_form(Person, content, "people", problems := Problems(), lines=content in lines)
        messages += problems.first
    # A table that is read already has the columns of its first row.
    table = [{"id": 1, "name": "A", "other": float("nan")}, {"id": 2, "name": " "}]
    rows = read_json_form(Person, table, "people", problems := Problems())
    assert [row.name for row in rows] == ["A"] and rows.refused == table[1:]
    assert not read_json_form(Person, [{"name": "A"}], "people", problems)
    expected("\n".join([*messages, *problems.first]))


def test_names_of_folders_are_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "split=test" / "table.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"column": ["row"]}), path)
    assert read_parquet(path).column_names == ["column"]
    with pytest.raises(IsADirectoryError):
        read_parquet(path.parent)


@pytest.mark.parametrize(
    "kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.string_view())]
)
def test_texts_of_a_table_are_texts_however_they_are_kept(kind: pa.DataType, tmp_path: Path) -> None:
    """As polars writes views, and pandas dictionaries of categories."""
    rows = [["one", "two"], ["one"], None] if pa.types.is_list(kind) else ["one", "one", None]
    is_dictionary = pa.types.is_dictionary(kind)
    column = pa.array(rows, pa.string()).dictionary_encode() if is_dictionary else pa.array(rows, kind)
    pq.write_table(pa.table({"column": column}), tmp_path / "table.parquet")
    table = read_parquet(tmp_path / "table.parquet")
    assert table.column("column").to_pylist() == rows
    found = table.schema.field("column").type
    found = found.value_type if pa.types.is_list(found) else found
    assert pa.types.is_string(found) or pa.types.is_large_string(found)
