"""A sample of groups through the real command: what is asked, kept, estimated, said and refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command, own_command_alone, run_host

from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.finished.submit import submit
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.scores import read_scores, scores_path
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import SAMPLE, SHARD

pytestmark = pytest.mark.host

TASKS = "causalvqa_debug_paired,mvp_mini"


@pytest.fixture(autouse=True)
def world(sample_world: SampleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))


def ask(
    world: SampleWorld,
    out: Path,
    sample: str,
    model: str = "random_answer",
    env: Mapping[str, str] | None = None,
    ranks: int = 1,
) -> HostRun:
    asked = "--model", model, "--tasks", TASKS
    return run_host(*asked, home=world.home, out=out, ranks=ranks, env={SAMPLE: sample, **(env or {})})


def groups(run: Run) -> dict[str, set[str]]:
    return {task: {one.group_id for one in records} for task, records in run.records.items()}


def parts(run: Path) -> object:
    (path,) = run.rglob("*_scores.json")
    return json.loads(path.read_text(encoding="utf-8"))["parts"]


def test_a_sample_is_of_whole_groups_and_a_larger_one_asks_what_is_new(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    small = ask(sample_world, tmp_path / "out", "12", "sample_solver")
    run = read_run(small.out)
    assert "causalvqa_debug_paired: a sample, 12 of 20 pairs; at 50% the half-width" in small.output, small.output
    assert " pairs of its 4 tasks together; at 50% the half-width" in small.output, small.output
    first = groups(run)
    mvp = [name for name in first if name.startswith("mvp_mini")]
    assert len(first["causalvqa_debug_paired"]) == 12 and sum(len(first[name]) for name in mvp) == 12
    assert len(mvp) == 4 and len(run.records["causalvqa_debug_paired"]) == 24, "of each task, and whole pairs"
    assert all(record.drawn for records in run.records.values() for record in records)
    part = read_scores(scores_path(small.results_file())).part("mvp_mini")
    assert part.sampled and (part.sampled.asked, part.sampled.unit) == (12, "pairs")
    assert f", from 12 of {part.sampled.groups} pairs" in small.output and run.card["run"]["sample"] == "12:0"
    shown = " ".join(own_command_alone(sample_world.home, "report", small.out).stdout.split())
    assert "A SAMPLE: sample_solver was asked 24 of" in shown and f"from 12 of {part.sampled.groups} pairs" in shown
    for name in ("mvp_mini", "causalvqa_debug_paired"):
        assert small.scores(name), "what lmms-eval prints is what the file of scores has"
    assert not list(small.out.rglob("*submission*"))
    with pytest.raises(InputError, match="Expected all groups, but got scores from 12 of"):
        submit("mvp", small.out, tmp_path / "file", allow_unofficial=True, allow_incomplete=True)
    again = rescore(small.out, tmp_path / "again")
    assert not again.changes and not any(again.items.values())
    ask(sample_world, tmp_path / "out", "16", "sample_solver")
    large = read_run(tmp_path / "out")
    assert all(first[task] <= groups(large)[task] for task in first)
    kept = sum(len(records) for records in run.records.values())
    assert large.card["run"]["answers kept from before"] == kept


@pytest.mark.nightly
def test_parts_and_ranks_ask_the_same_sample(sample_world: SampleWorld, tmp_path: Path) -> None:
    whole = ask(sample_world, tmp_path / "whole", "12:3", ranks=2)
    halves = [ask(sample_world, tmp_path / part, "12:3", env={SHARD: f"{part}/2"}) for part in "12"]
    done = own_command(sample_world.home, "merge", *(half.out for half in halves), "--out", tmp_path / "merged")
    assert done.returncode == 0, done.stdout + done.stderr
    assert groups(read_run(whole.out)) == groups(read_run(tmp_path / "merged"))
    assert parts(whole.out) == parts(tmp_path / "merged")


def test_a_sample_of_all_groups_is_the_whole(sample_world: SampleWorld, tmp_path: Path) -> None:
    ask(sample_world, tmp_path / "all", "400")
    whole = run_host("--model", "random_answer", "--tasks", TASKS, home=sample_world.home, out=tmp_path / "whole")
    assert parts(tmp_path / "all") == parts(whole.out)


def test_a_sample_without_a_group_of_each_stratum_is_refused(sample_world: SampleWorld, tmp_path: Path) -> None:
    refused = ask(sample_world, tmp_path / "few", "3")
    assert refused.status == 1 and "one group of each of its strata, but got 3" in refused.output, refused.output
