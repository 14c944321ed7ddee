"""Values in files that only grow: what is read of files that were cut off anywhere, and on a disk that is full."""

from __future__ import annotations

import json
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.store import SUFFIX, KeptValues

VALUES = st.dictionaries(st.text("abcdef", min_size=1), st.fixed_dictionaries({"text": st.text()}), max_size=4)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


@pytest.mark.slow
@settings(max_examples=40)
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
        rest = {json.loads(line)["key"] for other in files(folder)[1:] for line in other.read_bytes().splitlines()}
        found = KeptValues(folder).read()
        assert found.keys() >= {*whole, *rest} and all(expected[key] == value for key, value in found.items())
        wanted = {*whole[:1], "nothing"}
        assert KeptValues(folder).read(wanted).keys() == {*whole[:1]}


def full_disk(monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    """Let files take so many bytes of a line."""

    class FullDisk(FileIO):
        def write(self, line: Any) -> int:
            return super().write(line[:taken])

    monkeypatch.setattr(Path, "open", lambda path, mode, buffering=-1: FullDisk(path, mode))


def test_nothing_follows_a_line_that_a_full_disk_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(OSError, match=r"is full.* Remedy: free space there"):
        full_disk(patch, taken=0)
        KeptValues(tmp_path).keep("a", {})
    assert not files(tmp_path), "an empty file does not stay"
    values = KeptValues(tmp_path)
    values.keep("a", {"text": "whole"})
    with monkeypatch.context() as patch, pytest.raises(OSError, match=f"The disk of {tmp_path} is full"):
        full_disk(patch, taken=5)
        values.keep("b", {"text": "cut off"})
    values.keep("c", {"text": "after"})
    values.close()
    assert len(files(tmp_path)) == 2 and KeptValues(tmp_path).read().keys() == {"a", "c"}


def test_a_value_is_found_where_another_keeps_it_meanwhile_and_the_last_one_counts(tmp_path: Path) -> None:
    one, other = KeptValues(tmp_path), KeptValues(tmp_path)
    assert one.find("a") is None
    other.keep("a", {"text": "first"})
    assert one.find("a") == {"text": "first"}
    one.keep("a", {"text": "second"})
    assert one.find("a") == KeptValues(tmp_path).find("a") == {"text": "second"}
    (half,) = (path for path in files(tmp_path) if b"first" in path.read_bytes())
    with half.open("ab") as file:
        file.write(b'{"key": "b", "te')
        file.flush()
        assert one.find("b") is None
        file.write(b'xt": "whole"}\n')
    assert one.find("b") == {"text": "whole"}
