from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest
from raw_releases import QUESTION, write_metadata

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data import home as home_module
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, home, media_path, table_path
from lmms_eval_tasks.utils.data.prepare import make_table, write_table

REMEDY = (
    "Run:  lmms-eval-tasks prepare causalvqa --source CausalVQA.zip\n"
    "To try without the data:  lmms-eval-tasks sample --out sample --prepare"
)

pytestmark = pytest.mark.usefixtures("home")


def refusal(split: str, tmp_path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_table("causalvqa", split)
    return str(caught.value).replace(str(tmp_path), "~")


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


@pytest.mark.parametrize("place", ["/proc", "file", "file/below", "/dev/null"])
def test_a_home_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / place))
    with pytest.raises(InputError) as refused:
        prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    what, remedy = str(refused.value).splitlines()
    assert what.startswith(f"The data home {tmp_path / place} cannot be written to: ") and "Errno" not in what
    assert ("is no folder" in what) == (place != "/proc")
    assert remedy == "Remedy: set LMMS_EVAL_TASKS_HOME to a folder of your own."


def test_nothing_prepared(tmp_path: Path) -> None:
    assert refusal("test", tmp_path) == (
        f"CausalVQA is not prepared: there is no ~/home/causalvqa/manifest.json.\n{REMEDY}"
    )


def test_another_split_prepared(tmp_path: Path) -> None:
    prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    assert refusal("test", tmp_path) == (
        f"CausalVQA, split test, is not prepared: ~/home/causalvqa holds debug.\n{REMEDY}"
    )


def test_unknown_benchmark() -> None:
    with pytest.raises(InputError, match=r"^Expected a benchmark, one of .*causalvqa, .*mvp.*, but got '\.\./x'\.$"):
        load_table("../x", "test")


@pytest.mark.parametrize("content", ['{"schema_version": 2}', "{", "[]"])
def test_a_manifest_of_another_format(tmp_path: Path, content: str) -> None:
    prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    (benchmark_dir("causalvqa") / "manifest.json").write_text(content)
    assert refusal("debug", tmp_path) == (
        f"CausalVQA cannot be used: ~/home/causalvqa/manifest.json is not a manifest of format 1.\n{REMEDY}"
    )


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(path.read_bytes()[:-9]), Path.unlink])
def test_a_table_that_was_tampered_with(tmp_path: Path, spoil: object) -> None:
    prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    assert callable(spoil)
    spoil(table_path("causalvqa", "debug"))
    assert refusal("debug", tmp_path) == (
        "CausalVQA, split debug, cannot be used: ~/home/causalvqa/debug.parquet is not the prepared table.\n" + REMEDY
    )


def test_a_clip_that_has_gone_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = write_metadata(tmp_path, "debug", [QUESTION])
    prepare(release)
    (release / "debug" / "videos" / "a.mp4").unlink()
    assert refusal("debug", tmp_path).startswith("CausalVQA, split debug: 1 of 1 clips are missing (debug 1).\n")
    assert load_table("causalvqa", "debug", require_clips=False)["clip_present"] == [True, True]
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    table = load_table("causalvqa", "debug")
    assert table["clip_present"] == [False, False]
    assert media_path("causalvqa", table[0]) == benchmark_dir("causalvqa") / "placeholder.mp4"


@pytest.mark.parametrize("clip", ["a.mp4", "missing.mp4"])
def test_only_skip_allows_missing_clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip: str) -> None:
    prepare(write_metadata(tmp_path, "debug", [{**QUESTION, "renamed_video": clip}]))
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "yes")
    assert refusal("debug", tmp_path) == "Expected LMMS_EVAL_TASKS_MISSING to be unset or skip, but got 'yes'."


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The splits whose clips are looked for from here on."""
    asked: list[str] = []

    def watched(benchmark: str, split: str, table: object) -> dict[str, str]:
        asked.append(split)
        return search(benchmark, split, table)

    search = home_module.absent_clips
    monkeypatch.setattr(home_module, "absent_clips", watched)
    return asked


def test_an_evaluation_looks_for_clips_and_warns_once_per_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, searches: list[str]
) -> None:
    for split in ("debug", "test"):
        prepare(write_metadata(tmp_path, split, [QUESTION, {**QUESTION, "qid": "q2", "renamed_video": "b.mp4"}]))
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    with caplog.at_level(logging.WARNING):
        evaluation = Evaluation()
        for _ in range(3):
            for split in ("debug", "test"):
                table = evaluation.open_split({"benchmark": "causalvqa", "split": split})
                assert table["clip_present"] == [True, True, False, False]
    assert searches == ["debug", "test"]
    assert caplog.messages == [
        f"CausalVQA, split {split}: 1 of 2 clips are missing ({split} 1)." for split in ("debug", "test")
    ]


def test_the_same_release_prepared_again_is_looked_at_again(tmp_path: Path, searches: list[str]) -> None:
    release = write_metadata(tmp_path, "debug", [QUESTION])
    prepare(release)
    clip = release / "debug" / "videos" / "a.mp4"
    away = clip.rename(tmp_path / "away.mp4")
    assert "1 of 1 clips are missing" in refusal("debug", tmp_path)
    manifest = (benchmark_dir("causalvqa") / "manifest.json").read_bytes()
    away.rename(clip)
    prepare(release)
    assert (benchmark_dir("causalvqa") / "manifest.json").read_bytes() == manifest
    assert load_table("causalvqa", "debug")["clip_present"] == [True, True]
    assert searches == ["debug", "debug"]


def test_who_needs_no_clips_looks_for_none(tmp_path: Path, searches: list[str]) -> None:
    prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    load_table("causalvqa", "debug", require_clips=False)
    assert searches == []


def test_the_clip_of_a_row(tmp_path: Path) -> None:
    prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    row = load_table("causalvqa", "debug")[0]
    assert media_path("causalvqa", row) == clip_path("causalvqa", "debug/a.mp4")


def test_a_loaded_table_has_the_same_fingerprint_each_time(tmp_path: Path) -> None:
    prepare(write_metadata(tmp_path, "debug", [QUESTION]))
    first, second = load_table("causalvqa", "debug"), load_table("causalvqa", "debug")
    assert first._fingerprint == second._fingerprint


def test_the_same_rows_give_the_same_table_bytes(tmp_path: Path) -> None:
    row = {"item_id": "a", "group_id": "g", "question": "?", "options": ["x", "y"], "answer": None, "clip": "c.mp4"}
    for name, types in (("a", {"n": "int64"}), ("b", {"n": pa.int64()})):
        write_table(make_table([{**row, "clip_present": True, "n": 1}], types), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
