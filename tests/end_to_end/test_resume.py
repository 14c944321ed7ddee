"""Runs that are killed and started again: they ask what was not answered, and end as one that was never interrupted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from host_run import HostRun, SampleWorld, kill_host, qwen_arguments, run_host, start_host
from kept_answers import kept_answers

from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

TASKS = ("cast_bench", "causalvqa_debug_paired")
ITEMS = 24

State = dict[str, dict[str, Any]]


def kill_after(count: int, *arguments: str, out: Path, **options: Any) -> State:
    """Start a run, kill it once so many answers are kept, and return those."""
    run = start_host(*arguments, out=out, **options)
    try:
        until = time.monotonic() + 240
        while run.poll() is None and time.monotonic() < until and len(kept_answers(out / "answers")) < count:
            time.sleep(0.02)
    finally:
        kill_host(run)
    kept = kept_answers(out / "answers")
    assert count <= len(kept) < ITEMS
    return kept


def outcome(run: HostRun) -> dict[str, Any]:
    """Scores, sample logs and files for leaderboards."""
    files = {path.name: path.read_text(encoding="utf-8") for path in (run.out / "submissions").iterdir()}
    samples = {(task, sample["record"]["item_id"]): sample for task in TASKS for sample in run.samples(task)}
    return {**{task: run.scores(task) for task in TASKS}, "files": files, "samples": samples}


def test_a_run_killed_on_two_ranks_and_on_one_ends_as_one_that_was_not(
    tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    arguments = qwen_arguments(tiny_qwen, tokens=12, model="qwen_on_cpu_ranks")
    arguments += ["--tasks", ",".join(TASKS), "--limit", str(ITEMS // 2)]
    options: dict[str, Any] = {"home": sample_world.home, "env": {"LMMS_EVAL_TASKS_BOXES": "xyxy_resized"}}
    out = tmp_path / "killed"
    first = kill_after(6, *arguments, out=out, ranks=2, **options)
    second = kill_after(len(first) + 5, *arguments, out=out, **options)
    assert second.items() >= first.items()
    resumed = run_host(*arguments, out=out, ranks=2, **options)
    assert kept_answers(out / "answers").items() >= second.items(), "no item with a kept answer is asked again"
    assert len(kept_answers(out / "answers")) == ITEMS
    assert f"{len(second)} answers kept from before" in resumed.output
    assert resumed.output.count("kept from before") == 1
    assert read_run(out).card["run"]["answers kept from before"] == len(second)
    whole = run_host(*arguments, out=tmp_path / "whole", **options)
    assert outcome(resumed) == outcome(whole)
    assert "kept from before" not in whole.output and whole.output.count("Model Responding") == 0
