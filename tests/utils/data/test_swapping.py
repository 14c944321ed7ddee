"""A benchmark's folder that changes places while it is read, or whose build was killed as it did."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from locks import held_by_another_process
from raw_releases import QUESTION, write_metadata

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core import files as swapping
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import read_steadily, swap
from lmms_eval_tasks.utils.data import home as home_module
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.utils.data.prepare import preparing

OTHER = {**QUESTION, "qid": "q9"}


def prepared(tmp_path: Path, *questions: dict[str, object]) -> Path:
    prepare(write_metadata(tmp_path, "debug", list(questions)))
    return benchmark_dir("causalvqa")


def test_a_reader_undoes_a_swap_whose_build_was_killed_where_something_can_be_written(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(current: Path) -> None:
        raise PermissionError("read-only")

    current = prepared(tmp_path, QUESTION)
    current.rename(home / ".causalvqa.old")
    with monkeypatch.context() as patch, pytest.raises(InputError, match="CausalVQA is not prepared"):
        patch.setattr(swapping, "_recover", refused)
        read_manifest(read_card("causalvqa"))
    assert load_table("causalvqa", "debug")["clip_present"] == [True, True]
    assert current.is_dir() and not (home / ".causalvqa.old").exists()


def test_a_reader_waits_for_a_swap_that_is_under_way(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = prepared(tmp_path, QUESTION)
    old, pauses = home / ".causalvqa.old", []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            old.rename(current)

    with held_by_another_process(home / ".causalvqa.lock"):
        current.rename(old)
        monkeypatch.setattr(time, "sleep", pause)
        assert list(read_manifest(read_card("causalvqa")).splits) == ["debug"]
    assert len(pauses) == 3


def test_a_table_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = prepared(tmp_path, QUESTION, OTHER)
    shutil.copytree(current, home / "two_questions", symlinks=True)
    with preparing(replace=True):
        prepared(tmp_path / "again", QUESTION)
    sha256, swaps = home_module.file_sha256, []

    def swapped_meanwhile(path: Path) -> str:
        if not swaps:
            swaps.append(path)
            swap(home / "two_questions", current)
        return sha256(path)

    monkeypatch.setattr(home_module, "file_sha256", swapped_meanwhile)
    assert len(load_table("causalvqa", "debug")) == 4
    assert len(swaps) == 1


def test_a_failure_of_the_reader_is_raised_once(tmp_path: Path) -> None:
    calls = []

    def read() -> None:
        calls.append(1)
        raise KeyError

    with pytest.raises(KeyError):
        read_steadily(tmp_path / "none", read)
    assert calls == [1]
