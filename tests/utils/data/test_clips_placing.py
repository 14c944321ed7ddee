"""How clips get into the data home where the file system lacks links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lmms_eval_tasks.utils.core.files import is_safe
from lmms_eval_tasks.utils.data.prepare import link


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.mp4"
    path.write_bytes(b"clip")
    return path


def refuse(*args: object, **kwargs: object) -> None:
    raise OSError("not supported")


def test_a_symbolic_link_where_possible(source: Path, tmp_path: Path) -> None:
    for _ in range(2):
        link(source, tmp_path / "clip")
        assert (tmp_path / "clip").readlink() == source


def test_another_file_in_the_way_is_replaced(source: Path, tmp_path: Path) -> None:
    (tmp_path / "clip").write_bytes(b"other")
    link(source, tmp_path / "clip")
    assert (tmp_path / "clip").read_bytes() == b"clip"


def test_a_hard_link_where_symbolic_ones_are_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "symlink_to", refuse)
    link(source, tmp_path / "clip")
    assert (tmp_path / "clip").samefile(source)
    assert not (tmp_path / "clip").is_symlink()


def test_a_copy_where_all_links_are_refused(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "symlink_to", refuse)
    monkeypatch.setattr(os, "link", refuse)
    link(source, tmp_path / "clip")
    assert not (tmp_path / "clip").samefile(source)
    assert (tmp_path / "clip").read_bytes() == b"clip"


@pytest.mark.parametrize("name", ["a.mp4", "pt/a b.mp4", "a..b/c.mp4", "clip:1.mp4", "./a.mp4"])
def test_names_that_stay_inside(name: str) -> None:
    assert is_safe(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "/a",
        "../a",
        "a/../../b",
        "a/..",
        "C:/a",
        "c:a",
        "..\\a",
        "a\0b",
        "a\nb",
        "a\x7fb",
        "a\u2028b",
        "a\ud800",
    ],
)
def test_names_that_do_not(name: str) -> None:
    assert not is_safe(name)


@pytest.mark.parametrize("name", ["n" * 300, "é" * 130, "d/" * 600 + "a"])
def test_names_longer_than_a_files(name: str) -> None:
    assert not is_safe(name)
