"""Worlds on its sample, through the real command: all right, guessed, on one rank and on two, and a tiny model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from host_run import HostRun, own_command, run_host
from worlds_oracle import oracle

from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.worlds.card import SUBSETS

pytestmark = pytest.mark.host

TASKS = tuple(f"worlds_{subset}" for subset in SUBSETS)
PAIRED = tuple(f"worlds_{subset}" for subset in ("paired", "minimal", "counterfactual", "possible", "reversal"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("worlds")
    made = own_command(root / "home", "sample", "worlds", "--out", root / "sample", "--prepare")
    assert made.returncode == 0, made.stdout + made.stderr
    return root / "home"


@pytest.fixture(scope="module")
def table(home: Path) -> list[dict[str, Any]]:
    """The rows that were prepared."""
    import pyarrow.parquet as parquet

    (path,) = (home / "worlds").rglob("*.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def replay(table: list[dict[str, Any]], home: Path, folder: Path, ranks: int) -> HostRun:
    """A run in which every answer is right."""
    keys = folder / "keys.jsonl"
    keys.write_text("".join(json.dumps({"id": row["item_id"], "response": oracle(row)}) + "\n" for row in table))
    arguments = ("--model", "replay", "--model_args", f"predictions={keys}", "--tasks", "worlds")
    return run_host(*arguments, home=home, out=folder / "out", ranks=ranks)


@pytest.fixture(scope="module")
def right(table: list[dict[str, Any]], home: Path, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return replay(table, home, tmp_path_factory.mktemp("right"), ranks=1)


def records(run: HostRun, task: str) -> list[dict[str, Any]]:
    return [sample["record"] for sample in run.samples_in_order(task)]


def check_all_asked(run: HostRun, table: list[dict[str, Any]]) -> None:
    """Every question of the table was asked once and answered in a form that can be read."""
    asked = [record["item_id"] for task in TASKS for record in records(run, task)]
    assert sorted(asked) == sorted(row["item_id"] for row in table)
    for task in TASKS:
        assert run.score(task, "unparsed_rate") == run.score(task, "unscored_rate") == 0, task


def test_the_sample_has_every_task_and_level(table: list[dict[str, Any]]) -> None:
    assert {row["subset"] for row in table} == set(SUBSETS)
    assert {row["marked"] for row in table} == {"marked", "plain"}
    assert all(row["clip_present"] for row in table)


def test_right_answers_are_right_in_every_task(right: HostRun, table: list[dict[str, Any]]) -> None:
    check_all_asked(right, table)
    for task in TASKS:
        assert right.score(task, "single_accuracy") == right.score(task, "sample_data") == 100, task
    for task in PAIRED:
        assert right.score(task, "pair_accuracy") == 100 and right.score(task, "pairs_scored") > 0, task
    assert right.score("worlds_counterfactual", "balanced_accuracy") == 100
    grounded = right.scores("worlds_evidence")
    assert [grounded[name] for name in ("accuracy", "faithful", "im_tiou", "im_viou", "spurious")] == [
        *[100, 100, 100, 100], 0
    ]  # fmt: skip
    # Of no part that the sample has is a score lower.
    parts = {
        f"{task} {name}": value
        for task in TASKS
        for name, value in right.scores(task).items()
        if name.startswith(("single_accuracy", "pair_accuracy", "verdict_accuracy", "faithful")) and value is not None
    }
    assert len(parts) > 50 and set(parts.values()) == {100}


def test_two_ranks_score_and_log_as_one(
    right: HostRun, table: list[dict[str, Any]], home: Path, tmp_path: Path
) -> None:
    two = replay(table, home, tmp_path, ranks=2)
    for task in ("worlds", *TASKS):
        assert two.scores(task) == right.scores(task), task
    for task in TASKS:
        assert records(two, task) == records(right, task), task


def test_guesses_on_two_ranks_can_all_be_read(table: list[dict[str, Any]], home: Path, tmp_path: Path) -> None:
    run = run_host(
        "--model", "random_answer", "--model_args", "seed=1", "--tasks", "worlds", home=home, out=tmp_path, ranks=2
    )
    check_all_asked(run, table)
    outcomes = [record["outcome"] for task in TASKS for record in records(run, task)]
    assert set(outcomes) == {"correct", "wrong"}
    assert 0.25 < outcomes.count("correct") / len(outcomes) < 0.75


def test_a_real_adapter_decodes_prompts_and_is_scored_in_every_task(
    table: list[dict[str, Any]], home: Path, tmp_path: Path
) -> None:
    model = write_tiny_vlm(tmp_path / "tiny")
    arguments = "device_map=cpu,attn_implementation=eager,max_num_frames=4,min_pixels=3136,max_pixels=25088"
    run = run_host(
        "--model", "qwen2_5_vl", "--model_args", f"pretrained={model},{arguments}", "--device", "cpu",
        "--gen_kwargs", "max_new_tokens=4", "--tasks", "worlds", home=home, out=tmp_path / "out",
        env={"LMMS_EVAL_TASKS_BOXES": "xyxy_resized"},
    )  # fmt: skip
    by_id = {row["item_id"]: row for row in table}
    for task in TASKS:
        score = run.score(task, "single_accuracy")
        assert math.isfinite(score) and 0 <= score <= 100, task
        samples = run.samples(task)
        assert {sample["record"]["item_id"] for sample in samples} == {
            row["item_id"] for row in table if f"worlds_{row['subset']}" == task
        }
        # A fresh model writes byte salad: what it said is logged and read, not made up.
        for sample in samples:
            assert isinstance(sample["filtered_resps"], str)
            assert by_id[sample["record"]["item_id"]]["question"] in sample["input"]
