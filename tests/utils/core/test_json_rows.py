from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from lmms_eval_tasks.utils.core import forms as json_rows
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, read_object, read_rows


class Named(RowForm):
    name: str


def told(issues: Problems) -> list[str]:
    try:
        issues.raise_if_any("x")
    except InputError as error:
        return [line.strip() for line in str(error).splitlines()[1:]]
    return []


def test_rows_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"name": "a"}\n{"name": 1}\n  {"name": "\u2028"} \n{"name": "b"}', encoding="utf-8")
    issues = Problems()
    rows = [(where, row.name) for where, row in read_rows(tmp_path / "f", Named, issues)]
    assert rows == [("line 1", "a"), ("line 3", "\u2028"), ("line 4", "b")]
    assert told(issues) == ["name: Expected a text, but got `1` (line 2)."]


def test_how_long_a_list_is_and_that_it_is_no_tuple(tmp_path: Path) -> None:
    class Trio(RowForm):
        clips: list[str] = Field(min_length=3, max_length=3)

    class Pair(RowForm):
        clips: tuple[str, str]

    (tmp_path / "f").write_text('{"clips": ["a", "b"]}\n{"clips": ["a", "b", "c", "d"]}\n', encoding="utf-8")
    issues = Problems()
    assert list(read_rows(tmp_path / "f", Trio, issues)) == []
    assert told(issues) == [
        "clips: Expected at least 3 entries, but got a list (line 1).",
        "clips: Expected at most 3 entries, but got a list (line 2).",
    ]
    issues = Problems()
    assert list(read_rows(tmp_path / "f", Pair, issues)) == []
    wanted = "a list, which the form has to take as list[…], not as a tuple"
    assert told(issues) == [f"clips: Expected {wanted}, but got a list (line 1), a list (line 2)."]


def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rows, "LONGEST_LINE", 20)
    (tmp_path / "f").write_text('{"name": "a"}\n{"name": "' + "a" * 30 + '"}\n{"name": "b"}\n')
    issues = Problems()
    assert len(list(read_rows(tmp_path / "f", Named, issues))) == 1
    assert told(issues) == [
        "lines: Expected none longer than 20 bytes, but there is line 2. Remedy: Nothing after it was read."
    ]


def test_one_object(tmp_path: Path) -> None:
    for content, expected in (
        (b'{"name": "a"}', []),
        (b"null", ["rows: Expected an object, but got `null`."]),
        (b"\xef\xbb\xbf{}", [
            "bytes: Expected UTF-8 without a byte order mark, but there is one at the file's start.",
            "name: Expected this field, but it is missing from the file.",
        ]),
        (b"\xff", ["bytes: Expected UTF-8, but got byte 0xff."]),
        (b"{", ["text: Expected one JSON object, but got no JSON from character 2 on."]),
    ):  # fmt: skip
        (tmp_path / "f").write_bytes(content)
        issues = Problems()
        assert (read_object(tmp_path / "f", Named, issues) is None) == bool(expected)
        assert told(issues) == expected
