"""`submit` for a leaderboard of several benchmarks: ours, and made-up ones."""

from __future__ import annotations

import errno
import json
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest
from commands import call, printed
from expected import Expected
from hook_runs import FILES, MVP_MINI, write_hook_run
from submission_world import EVERY, Line, with_log

from lmms_eval_tasks.cast_bench.card import CARD as CAST_BENCH
from lmms_eval_tasks.finished import submit as leaderboard
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.data.card import SplitFacts
from lmms_eval_tasks.yocausal.card import CARD as YOCAUSAL

NAME = "physical-reasoning"
WRITTEN = {"causalvqa": "causalvqa", "intphys2": "intphys2", "mvp_mini": "mvp"}
"""Key to benchmark."""
OUT = Path("files")


@pytest.fixture(autouse=True)
def here(world: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hundred_columns: None) -> None:
    """The current folder, with a whole run in `run`, so that messages hold no other folders."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "run")


def write_run(folder: str, *tasks: str, model: str = "replay") -> str:
    """A run of some tasks by a model."""
    write_hook_run(Path(folder), {task: EVERY[task] for task in tasks})
    (results,) = Path(folder).glob("*_results.json")
    found = json.loads(results.read_text("utf-8"))
    found["config"]["model"] = model
    results.write_text(json.dumps(found), encoding="utf-8")
    return folder


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in OUT.iterdir()} if OUT.exists() else {}


def submit(*words: str) -> str:
    return printed("submit", NAME, *words, "--out", OUT)


def refused(*words: str) -> str:
    """A refusal that writes nothing."""
    before = contents()
    done = call("submit", NAME, *words, "--out", OUT)
    assert (done.status, done.out, contents()) == (1, "", before), done
    return done.err


def assert_written(*keys: str) -> None:
    """The files of these keys are there, each with the bytes that the whole run wrote."""
    found = contents()
    for key in keys:
        assert found[f"{key}.jsonl"] == Path("run", FILES[WRITTEN[key], ""]).read_bytes()


@pytest.mark.slow
def test_runs_fill_it_alone_or_together(expected: Expected) -> None:
    shown = submit("run")
    assert_written(*WRITTEN)
    assert len(contents()) == len(WRITTEN) and all(len(line) <= 100 for line in shown.splitlines())
    shutil.rmtree(OUT)
    one = write_run("one", MVP_MINI[3], "intphys2_heldout", MVP_MINI[0], model="first")
    two = write_run("two", "causalvqa_paired", *MVP_MINI[1:3], model="first")
    shown += submit(one, two, write_run("idle", "cast_bench"))
    assert_written(*WRITTEN)
    one = write_run("three", "causalvqa_paired", model="first")
    shown += submit(one, write_run("four", "intphys2_heldout", *MVP_MINI, model="second"))
    expected(shown)


@pytest.mark.slow
def test_what_is_missing_is_named_with_its_task(expected: Expected) -> None:
    OUT.mkdir()
    for name in ("mvp.jsonl", "mvp_mini.jsonl", "notes.txt"):
        (OUT / name).write_text("earlier")
    shown = submit(write_run("part", "causalvqa_paired"))
    assert_written("causalvqa")
    assert sum(content == b"earlier" for content in contents().values()) == 3
    shown += submit(write_run("less", *MVP_MINI[1:]), "--allow-incomplete")
    expected(shown + refused(write_run("other", "cast_bench", "yocausal")))


@pytest.mark.slow
def test_all_that_is_wrong_is_named_at_once(world: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected) -> None:
    def spoil(lines: list[Line]) -> list[Line]:
        lines[0]["record"]["answered"] = "F"
        return lines[:-1]

    one = write_run("one", "causalvqa_paired", "intphys2_heldout", "cast_bench")
    two = write_run("two", "causalvqa_paired", *MVP_MINI[:2], "cast_bench", model="first")
    rest = write_run("rest", *MVP_MINI[2:], model="second")
    with_log(Path(write_run("3", "causalvqa_paired")), Path("spoilt"), "causalvqa_paired", spoil)
    torn = write_run("torn", "intphys2_heldout")
    Path(torn, "20261122_samples_intphys2_heldout.jsonl").write_bytes(b"\xff\n")
    part = write_run("part", *MVP_MINI[1:])
    parts = [write_run(f"part {number}", MVP_MINI[number]) for number in (0, 1)]
    OUT.mkdir()
    (OUT / "causalvqa.jsonl").write_text("earlier")
    asked = ([one, two], [one, one], [two, rest], ["spoilt", torn, part], parts, [part, "--allow-unofficial"])
    shown = [refused(*words) for words in (*asked, ["run", "--split", "test"], ["run", "--part", "test"])]
    shown.append(call("submit", "mvp", "run", "run", "--out", "file").err)
    with_log(Path("run"), Path("less"), "causalvqa_paired", lambda lines: lines[1:])
    shutil.copytree(world, "home", symlinks=True)
    shutil.rmtree("home/mvp")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", "home")
    expected("\n".join([*shown, refused("less")]))


def test_a_file_that_cannot_be_written_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> AbstractContextManager[Path]:
        if path.name == "mvp_mini.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return replacing(path)

    OUT.mkdir()
    (OUT / "causalvqa.jsonl").write_text("earlier")
    monkeypatch.setattr(leaderboard, "replacing", full)
    assert f"The disk of {OUT.resolve()} is full" in refused("run")


def test_a_made_up_leaderboard(expected: Expected) -> None:
    """It takes files of other endings, and a second split that is not needed."""
    splits = {"test": SplitFacts(3, 3), "more": SplitFacts(3, 3)}
    with (
        patch.dict(YOCAUSAL.leaderboards, {"films": {"test": "arrow"}}),
        patch.dict(CAST_BENCH.leaderboards, {"films": {"test": "evidence", "more": "evidence-more"}}),
        patch.dict(CAST_BENCH.splits, splits),
    ):
        expected(printed("submit", "films", "run", "--out", OUT))
    assert contents() == {
        "evidence.jsonl": Path("run", FILES["cast_bench", ""]).read_bytes(),
        "arrow.json": Path("run", FILES["yocausal", ""]).read_bytes(),
    }
