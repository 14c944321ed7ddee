from __future__ import annotations

from pathlib import Path

import pytest

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import read_csv


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_rows_have_their_place_and_empty_cells_for_those_they_lack(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeff a ,b\r\n1,"x\ny"\r\n\r\n2\r\n')
    assert list(read_csv(path, ["a"])) == [
        ("t.csv, line 3", {"a": "1", "b": "x\ny"}),
        ("t.csv, line 5", {"a": "2", "b": ""}),
    ]


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    ((_, row),) = read_csv(write(tmp_path, f"a\n{'x' * 200_000}\n"), ["a"])
    assert len(row["a"]) == 200_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("b\n", "Expected the columns a, but got b: a is missing."),
        ("", "Expected the columns a, but got none: a is missing."),
        ("a,b,b\n", "Expected each column once, but got b again."),
        ("a,b\n1,2,3\n", "line 2: Expected at most 2 cells, but got 3."),
        ('a\n"x', "Expected a CSV file, but line 2 is not CSV (unexpected end of data)."),
        (b"a\n\xff\n", "Expected a CSV file in UTF-8, but byte 2 is not."),
    ],
)
def test_what_is_no_table_is_said(content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        list(read_csv(write(tmp_path, content), ["a"]))
    assert str(error.value) == f"t.csv cannot be used: {message}"


def test_only_a_regular_file_is_waited_for() -> None:
    with pytest.raises(InputError, match="zero cannot be used: It is no regular file"):
        list(read_csv(Path("/dev/zero"), ["a"]))
