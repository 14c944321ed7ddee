"""`submit` for a leaderboard of several benchmarks: ours, and made-up ones."""

from __future__ import annotations

import errno
import json
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest
from hook_runs import FILES, MVP_MINI, write_hook_run
from submission_world import CAST_BENCH, EVERY, YOCAUSAL, command, with_log

from lmms_eval_tasks.finished import submit as leaderboard
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.data.card import SplitFacts

NAME = "physical-reasoning"
WRITTEN = {"causalvqa": "causalvqa", "intphys2": "intphys2", "mvp_mini": "mvp"}
"""Key to benchmark."""


def write_run(folder: Path, *tasks: str, model: str = "replay") -> Path:
    """A run of some tasks by a model."""
    write_hook_run(folder, {task: EVERY[task] for task in tasks})
    (results,) = folder.glob("*_results.json")
    found = json.loads(results.read_text("utf-8"))
    found["config"]["model"] = model
    results.write_text(json.dumps(found), encoding="utf-8")
    return folder


def assert_written(out: Path, run: Path, *keys: str) -> None:
    """A folder holds the files of these keys alone, and each has the bytes that a whole run wrote."""
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{key}.jsonl" for key in keys)
    for key in keys:
        assert (out / f"{key}.jsonl").read_bytes() == (run / FILES[WRITTEN[key], ""]).read_bytes()


def refusal(out: Path, *arguments: str | Path) -> list[str]:
    """The lines of a refusal that wrote nothing."""
    before = {path: path.read_bytes() for path in out.iterdir()} if out.exists() else None
    status, printed, told = command("submit", NAME, *arguments, "--out", out)
    assert (status, printed) == (1, ""), printed
    assert ({path: path.read_bytes() for path in out.iterdir()} if out.exists() else None) == before
    return told.splitlines()


@pytest.mark.usefixtures("hundred_columns")
def test_one_run_gives_the_files_that_it_wrote_itself(world_home: Path, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "files"
    status, printed, told = command("submit", NAME, run, "--out", out)
    assert (status, told) == (0, "")
    assert_written(out, run, *WRITTEN)
    assert all(len(line) <= 100 for line in printed.splitlines() if str(tmp_path) not in line)
    table = {line.split()[0]: " ".join(line.split()) for line in printed.splitlines() if ".jsonl" in line}
    assert table["causalvqa.jsonl"].startswith("causalvqa.jsonl causalvqa_paired 4 of 4 0 the form")
    assert table["intphys2.jsonl"].startswith("intphys2.jsonl intphys2_heldout 2 of 2 0 the form")
    assert table["mvp_mini.jsonl"].startswith("mvp_mini.jsonl mvp_mini 8 of 8 0 the form")
    assert table["mvp.jsonl"] == "mvp.jsonl mvp none not needed"
    assert "note: causalvqa.jsonl: Only data_name is known" in printed and "warning" not in printed


def test_several_runs_fill_it_together(world_home: Path, run: Path, tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", MVP_MINI[3], "intphys2_heldout", MVP_MINI[0])
    two = write_run(tmp_path / "two", "causalvqa_paired", *MVP_MINI[1:3])
    idle = write_run(tmp_path / "idle", "cast_bench")
    status, printed, told = command("submit", NAME, one, two, idle, "--out", tmp_path / "files")
    assert status == 0, told
    assert_written(tmp_path / "files", run, *WRITTEN)
    (noted,) = [line for line in printed.splitlines() if line.startswith("note: No file was made from ")]
    assert str(idle) in noted


def test_what_is_missing_is_named_with_its_task(world_home: Path, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "files"
    out.mkdir()
    for name in ("mvp.jsonl", "mvp_mini.jsonl", "notes.txt"):
        (out / name).write_text("earlier")
    status, printed, told = command("submit", NAME, write_run(tmp_path / "run", "causalvqa_paired"), "--out", out)
    assert status == 0, told
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "intphys2.jsonl intphys2_heldout none missing" in lines and "mvp_mini.jsonl mvp_mini none missing" in lines
    told = "Files are missing. Run intphys2_heldout, mvp_mini with --log_samples, and give that run too."
    assert lines[-1] == f"warning: {told}"
    for name in ("mvp.jsonl", "mvp_mini.jsonl"):
        assert f"warning: {out / name} is an older file, not made from these runs." in lines
        assert (out / name).read_text() == "earlier"
    assert (out / "causalvqa.jsonl").read_bytes() == (run / FILES["causalvqa", ""]).read_bytes()
    (refused,) = refusal(out, write_run(tmp_path / "other", "cast_bench", "yocausal"))
    wanted = "causalvqa_paired, intphys2_heldout, mvp_mini, mvp"
    got = "the runs have cast_bench, yocausal."
    assert refused == f"Nothing can be submitted to {NAME}: Expected a task of it, {wanted}, but {got}"


def test_a_task_in_two_runs_is_no_choice_of_ours(world_home: Path, tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", "causalvqa_paired", "intphys2_heldout", "cast_bench")
    two = write_run(tmp_path / "two", "causalvqa_paired", *MVP_MINI[:2], "cast_bench")
    first, second = (next(folder.glob("*_results.json")) for folder in (one, two))
    remedy = "Remedy: Give only the run whose answers are to be sent."
    doubled = "runs: Expected each task in one of them, but got in several"
    assert refusal(tmp_path / "files", one, two) == [
        f"The runs cannot be submitted to {NAME}: 3 problems, nothing was written.",
        f"  causalvqa, {doubled} causalvqa_paired ({first}, {second}). {remedy}",
        f"  mvp_mini, {second}, tasks: Expected every task of the split, but the run lacks {', '.join(MVP_MINI[2:])}. "
        "Remedy: --allow-incomplete writes the file nevertheless.",
        f"  mvp_mini, {second}, items: Expected all 8 of the split, but the run lacks `grasp_1_1`, `grasp_1_2`, "
        "`star_1_1`, `star_1_2`. Remedy: --allow-incomplete writes the file nevertheless.",
    ]
    told = refusal(tmp_path / "files", one, one)
    assert told[1:] == [f"  {key}, {doubled} {task} ({first}, {first}). {remedy}" for key, task in (
        ("causalvqa", "causalvqa_paired"), ("intphys2", "intphys2_heldout"),
    )]  # fmt: skip


def test_all_that_is_wrong_is_named_at_once(world_home: Path, run: Path, tmp_path: Path) -> None:
    def spoil(lines: list[dict[str, object]]) -> list[dict[str, object]]:
        lines[0]["record"]["answered"] = "F"  # type: ignore[index]
        return lines[:-1]

    spoilt = with_log(write_run(tmp_path / "1", "causalvqa_paired"), tmp_path / "a", "causalvqa_paired", spoil)
    torn = write_run(tmp_path / "b", "intphys2_heldout")
    (torn / "20261122_samples_intphys2_heldout.jsonl").write_bytes(b"\xff\n")
    part = write_run(tmp_path / "c", *MVP_MINI[1:])
    out = tmp_path / "files"
    out.mkdir()
    (out / "causalvqa.jsonl").write_text("earlier")
    told = "\n".join(refusal(out, spoilt, torn, part))
    for expected in (
        "20261122_samples_intphys2_heldout.jsonl, lines: Expected logged items of one of our tasks",
        f"causalvqa, {spoilt / '20261122_results.json'}, items: Expected all 4 of the split, but the run lacks `8_1`.",
        f"causalvqa, {spoilt / '20261122_results.json'}, answers: Expected options of their items, but got `F` (7_0).",
        f"mvp_mini, {part / '20261122_results.json'}, tasks: Expected every task of the split, but the run lacks "
        "mvp_mini_human_object_interactions.",
    ):
        assert expected in told, told
    refused = refusal(out, part, "--allow-unofficial")
    assert len(refused) > 1
    status, printed, _ = command("submit", NAME, part, "--out", out, "--allow-incomplete")
    assert status == 0 and "6 of 8" in printed and "Incomplete: 2 of 8 items have no row." in printed


def test_data_that_is_not_the_release(world_home: Path, run: Path, tmp_path: Path) -> None:
    def simulate(lines: list[dict[str, object]]) -> list[dict[str, object]]:
        for line in lines:
            line["record"]["data_set"] = {"kind": "sample"}  # type: ignore[index]
        return lines

    made = with_log(run, tmp_path / "run", "causalvqa_paired", simulate)
    (problem,) = refusal(tmp_path / "files", made)[1:]
    assert "data: Expected the official release, but got sample data." in problem
    status, printed, _ = command("submit", NAME, made, "--out", tmp_path / "files", "--allow-unofficial")
    assert status == 0 and "SAMPLE DATA, not the benchmark: do not send it to a leaderboard." in printed
    assert_written(tmp_path / "files", run, *WRITTEN)


def test_two_models_are_pointed_out_and_in_one_file_refused(world_home: Path, run: Path, tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", "causalvqa_paired", model="first")
    two = write_run(tmp_path / "two", "intphys2_heldout", *MVP_MINI, model="second")
    status, printed, _ = command("submit", NAME, one, two, "--out", tmp_path / "files")
    assert status == 0 and "warning: The files come from 2 models: first, second." in printed
    one = write_run(tmp_path / "three", *MVP_MINI[:2], model="first")
    two = write_run(tmp_path / "four", *MVP_MINI[2:], model="second")
    (problem,) = refusal(tmp_path / "none", one, two)[1:]
    assert "runs: Expected a file's answers to be of one model, but got first (" in problem and "second (" in problem


def test_what_is_not_prepared_is_told_beside_the_rest(
    world_home: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(world_home, tmp_path / "home", symlinks=True)
    shutil.rmtree(tmp_path / "home" / "mvp")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    told = refusal(tmp_path / "files", with_log(run, tmp_path / "run", "causalvqa_paired", lambda lines: lines[1:]))
    assert told[0].startswith("MVP is not prepared: there is no ")
    assert any("the run lacks `7_0`" in line for line in told)


def test_a_file_that_cannot_be_written_leaves_the_others(
    world_home: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> AbstractContextManager[Path]:
        if path.name == "mvp_mini.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return replacing(path)

    out = tmp_path / "files"
    out.mkdir()
    (out / "causalvqa.jsonl").write_text("earlier")
    monkeypatch.setattr(leaderboard, "replacing", full)
    assert f"The disk of {out} is full" in refusal(out, run)[0]


def test_what_goes_to_one_benchmark_alone_is_refused(world_home: Path, run: Path, tmp_path: Path) -> None:
    for option in ("--split", "--part"):
        (told,) = refusal(tmp_path / "files", run, option, "test")
        assert told.startswith(f"Expected neither --split nor --part for {NAME}")
    status, _, told = command("submit", "mvp", run, run, "--out", tmp_path / "file")
    assert (status, told) == (1, f"Expected one run for mvp, but got 2. A leaderboard takes several: {NAME}.\n")


def test_a_made_up_leaderboard(world_home: Path, run: Path, tmp_path: Path) -> None:
    """It takes files of other endings, and a second split that is not needed."""
    splits = {"test": SplitFacts(3, 3), "more": SplitFacts(3, 3)}
    with (
        patch.dict(YOCAUSAL.leaderboards, {"films": {"test": "arrow"}}),
        patch.dict(CAST_BENCH.leaderboards, {"films": {"test": "evidence", "more": "evidence-more"}}),
        patch.dict(CAST_BENCH.splits, splits),
    ):
        status, printed, told = command("submit", "films", run, "--out", tmp_path / "files")
    assert status == 0, told
    assert (tmp_path / "files" / "evidence.jsonl").read_bytes() == (run / FILES["cast_bench", ""]).read_bytes()
    assert (tmp_path / "files" / "arrow.json").read_bytes() == (run / FILES["yocausal", ""]).read_bytes()
    assert len(list((tmp_path / "files").iterdir())) == 2
    assert "note: arrow.json: model_info.parameters is null" in printed
