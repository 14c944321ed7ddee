"""Values in files that only grow: what is read of files that were cut off anywhere, and on a disk that is full."""

from __future__ import annotations

import errno
import json
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.store import SUFFIX, KeptValues

VALUES = st.dictionaries(st.text("abcdef", min_size=1), st.fixed_dictionaries({"text": st.text()}), max_size=4)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


@given(parts=st.lists(VALUES, min_size=1, max_size=3), cut=st.integers(0, 400))
def test_a_file_that_is_cut_off_anywhere_keeps_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, parts: list[dict[str, Any]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    expected: dict[str, Any] = {}
    for number, part in enumerate(parts):
        process = KeptValues(folder)
        for key, value in part.items():
            process.keep(f"{number}:{key}", value)
        process.close()
        expected |= {f"{number}:{key}": value for key, value in part.items()}
    assert KeptValues(folder).read() == expected
    assert len(files(folder)) == sum(map(bool, parts))
    for path in files(folder)[:1]:
        lines = path.read_bytes()[:cut].split(b"\n")
        path.write_bytes(b"\n".join(lines))
        whole = [json.loads(line)["key"] for line in lines[:-1]]
        rest = {key for other in files(folder)[1:] for key in map(key_of, other.read_bytes().splitlines())}
        found = KeptValues(folder).read()
        assert found.keys() >= {*whole, *rest} and all(expected[key] == value for key, value in found.items())
        wanted = {*whole[:1], "nothing"}
        assert KeptValues(folder).read(wanted).keys() == {*whole[:1]}


def key_of(line: bytes) -> str:
    return str(json.loads(line)["key"])


def test_nothing_follows_a_line_that_a_full_disk_cut_off(tmp_path: Path) -> None:
    values = KeptValues(tmp_path)
    values.keep("a", {"text": "whole"})
    full = FullDisk(tmp_path / f"full{SUFFIX}", "xb")
    values._file, first = full, values._file
    with pytest.raises(OSError, match=f"The disk of {tmp_path} is full"):
        values.keep("b", {"text": "cut off"})
    values.keep("c", {"text": "after"})
    values.close()
    assert first is not None
    first.close()
    assert full.closed and KeptValues(tmp_path).read().keys() == {"a", "c"}


class FullDisk(FileIO):
    """Takes five bytes of a line."""

    def write(self, line: Any) -> int:
        return super().write(line[:5])


def test_a_file_in_which_nothing_could_be_written_does_not_stay(tmp_path: Path) -> None:
    class Full(FileIO):
        def write(self, line: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    values = KeptValues(tmp_path)
    values._file = Full(tmp_path / f"full{SUFFIX}", "xb")
    with pytest.raises(OSError, match=f"The disk of {tmp_path} is full.* Remedy: free space there"):
        values.keep("a", {})
    assert not files(tmp_path)
