"""The data home: where it is, what is refused, clips that have gone, and folders that change while they are read."""

from __future__ import annotations

import errno
import json
import logging
import pwd
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from locks import held_by_another_process
from refusals import refusal
from releases import QUESTION, Row, write_causalvqa

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.host.checks import describe_unready
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core import files as swapping
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import FullDisk, file_sha256, name_full_disk, swap
from lmms_eval_tasks.utils.data import home as home_module
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.home import (
    benchmark_dir,
    clip_path,
    home,
    media_path,
    prepared_benchmark,
    read_manifest,
    table_file,
    table_path,
)
from lmms_eval_tasks.utils.data.prepare import Preparation

pytestmark = pytest.mark.usefixtures("home")


def unusable(split: str) -> str:
    return refusal(load_table, "causalvqa", split)


@pytest.mark.parametrize(
    ("kind", "items", "of", "text"),
    [
        ("official", 1_586, 1_586, "the official release"),
        ("official", None, None, "the official release"),
        ("official", 1_000, 1_586, "the official release, 1,000 of 1,586 items"),
        ("official", None, 1_586, "the official release"),
        ("part", None, 1_586, "a part of the official release"),
        ("part", 1_000, 1_586, "a part of the official release, 1,000 of 1,586 items"),
        ("own", 1_000, 1_586, "a set of one's own, 1,000 items"),
        ("own", None, 1_586, "a set of one's own"),
        ("sample", 8, 1_586, "sample data"),
        ("unknown", 8, None, "data that is not known to be the official release"),
    ],
)
def test_what_a_set_is_is_said_in_a_phrase(kind: str, items: int | None, of: int | None, text: str) -> None:
    found = DataSet(kind=SetKind(kind), items=items, of=of)
    apart = {"official": "", "sample": "SAMPLE DATA, not the benchmark"}.get(kind, text)
    assert (found.text, found.apart) == (text, apart)
    assert (found.is_official, found.is_sample) == (kind == "official", kind == "sample")


def test_items_of_two_sets_may_be_the_same_where_both_may_be_of_the_release_or_of_ones_own() -> None:
    shared = {
        (one.value, other.value) for one in SetKind for other in SetKind
        if DataSet(kind=one).may_share(DataSet(kind=other))
    }  # fmt: skip
    apart = {("own", "official"), ("own", "part"), *((kind.value, "sample") for kind in SetKind if kind != "sample")}
    pairs = {(one.value, other.value) for one in SetKind for other in SetKind}
    assert pairs - shared == apart | {pair[::-1] for pair in apart}


def test_an_option_names_a_file_or_a_prepared_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(Preparation(), write_causalvqa(tmp_path, "debug", [QUESTION]))
    monkeypatch.chdir(tmp_path)
    table = table_path("causalvqa", "debug")
    assert table_file("causalvqa:debug") == table and prepared_benchmark("causalvqa:debug") == "causalvqa"
    Path("plain.csv").write_text("")
    Path("causalvqa:debug").write_text("")
    assert table_file("plain.csv") == Path("plain.csv") and table_file("causalvqa:debug") == Path("causalvqa:debug")
    assert prepared_benchmark("plain.csv") is prepared_benchmark("causalvqa:debug") is prepared_benchmark("mvp") is None
    said = refusal(table_file, "causalvqa:test")
    assert said == f"causalvqa:test cannot be used: there is no {table_path('causalvqa', 'test')}."
    assert refusal(table_file, "none.csv") == "none.csv cannot be used: there is no none.csv."


def test_where_the_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home() == tmp_path / "home"
    monkeypatch.delenv("LMMS_EVAL_TASKS_HOME")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    assert home() == tmp_path / "hf" / "lmms_eval_tasks"
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".cache" / "huggingface" / "lmms_eval_tasks"
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", "/ho\udcffme")
    with pytest.raises(InputError, match="Expected the data home to have a path in UTF-8"):
        home()


def test_a_user_without_a_home_is_sent_to_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a container's is that runs under a user id that no user has."""

    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert home() == tmp_path / "home"
    (asked,) = [reason for reason in (describe_unready({}) or "").split("\n\n") if "HF_HOME" in reason]
    assert "LMMS_EVAL_TASKS_HOME" in asked
    full = name_full_disk(OSError(errno.ENOSPC, "full"), tmp_path)
    assert isinstance(full, FullDisk)
    monkeypatch.delenv("LMMS_EVAL_TASKS_HOME")
    monkeypatch.delenv("HF_HOME", raising=False)
    line = "Expected a home folder to keep data in, but this user has none. Set LMMS_EVAL_TASKS_HOME to a folder."
    assert refusal(home) == line
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", "~/data")
    assert refusal(home).startswith("Expected ~/data of LMMS_EVAL_TASKS_HOME, but this user has none.")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert "HF_HOME" not in (describe_unready({}) or "")


def test_a_home_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    (tmp_path / "file").write_text("")
    release = write_causalvqa(tmp_path, "debug", [QUESTION])
    messages = []
    for place in ("/proc", "file", "file/below", "/dev/null"):
        monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / place))
        messages.append(refusal(prepare, Preparation(), release))
    expected("\n".join(messages))


def test_what_is_not_prepared_or_was_tampered_with_is_refused(tmp_path: Path, expected: Expected) -> None:
    messages = [unusable("test")]
    release = write_causalvqa(tmp_path, "debug", [QUESTION])
    prepare(Preparation(), release)
    messages.append(unusable("test"))
    table = table_path("causalvqa", "debug")
    for spoil in (lambda: table.write_bytes(table.read_bytes()[:-9]), table.unlink):
        spoil()
        messages.append(unusable("debug"))
    for content in ('{"schema_version": 2}', "{", "[]"):
        (benchmark_dir("causalvqa") / "manifest.json").write_text(content)
        messages.append(unusable("debug"))
    expected("\n".join([*messages, refusal(load_table, "../x", "test")]))


@pytest.mark.parametrize("count", ["rows", "groups", "clips"])
def test_a_manifest_of_nothing_is_none(count: str, tmp_path: Path) -> None:
    prepare(Preparation(), write_causalvqa(tmp_path / "release", "debug", [QUESTION]))
    path = benchmark_dir("causalvqa") / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["splits"]["debug"][count] >= 1
    manifest["splits"]["debug"][count] = 0
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert f"{path} is not a manifest of format" in unusable("debug")


def test_a_clip_that_has_gone_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected) -> None:
    release = write_causalvqa(tmp_path, "debug", [QUESTION])
    prepare(Preparation(), release)
    first, second = load_table("causalvqa", "debug"), load_table("causalvqa", "debug")
    assert media_path("causalvqa", first[0]) == clip_path("causalvqa", "debug/a.mp4")
    assert first._fingerprint == second._fingerprint
    clip, manifest = release / "debug" / "videos" / "a.mp4", benchmark_dir("causalvqa") / "manifest.json"
    before, away = manifest.read_bytes(), clip.rename(tmp_path / "away.mp4")
    gone = unusable("debug")
    assert load_table("causalvqa", "debug", require_clips=False)["clip_present"] == [True, True]
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "yes")
    expected(f"{gone}\n{unusable('debug')}")
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    table = load_table("causalvqa", "debug")
    assert table["clip_present"] == [False, False]
    assert media_path("causalvqa", table[0]) == benchmark_dir("causalvqa") / "placeholder.mp4"
    # The same release prepared again is looked at again.
    away.rename(clip)
    prepare(Preparation(), release)
    assert manifest.read_bytes() == before and load_table("causalvqa", "debug")["clip_present"] == [True, True]


def test_an_evaluation_looks_for_clips_and_warns_once_per_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for split in ("debug", "test"):
        prepare(
            Preparation(),
            write_causalvqa(tmp_path, split, [QUESTION, {**QUESTION, "qid": "q2", "renamed_video": "b.mp4"}]),
        )
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    search = home_module.absent_clips
    searches: list[str] = []

    def note_search(*asked: Any) -> Any:
        searches.append(asked[1])
        return search(*asked)

    monkeypatch.setattr(home_module, "absent_clips", note_search)
    with caplog.at_level(logging.WARNING):
        evaluation = Evaluation()
        for _ in range(3):
            for split in ("debug", "test"):
                table = evaluation.open_split({"benchmark": "causalvqa", "split": split})
                assert table["clip_present"] == [True, True, False, False]
    load_table("causalvqa", "debug", require_clips=False)
    assert searches == ["debug", "test"]
    assert caplog.messages == [
        f"CausalVQA, split {split}: 1 of 2 clips are missing ({split} 1)." for split in ("debug", "test")
    ]


OTHER = {**QUESTION, "qid": "q9"}


def prepared(tmp_path: Path, *questions: Row, replace: bool = False) -> Path:
    prepare(Preparation(replace=replace), write_causalvqa(tmp_path, "debug", list(questions)))
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
    prepared(tmp_path / "again", QUESTION, replace=True)
    swaps: list[Path] = []

    def swapped_meanwhile(path: Path) -> str:
        if not swaps:
            swaps.append(path)
            swap(home / "two_questions", current)
        return file_sha256(path)

    monkeypatch.setattr(home_module, "file_sha256", swapped_meanwhile)
    assert len(load_table("causalvqa", "debug")) == 4
    assert len(swaps) == 1
