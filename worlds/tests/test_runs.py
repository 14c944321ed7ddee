"""Worlds on its sample, through the real command: right answers on two ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from host_run import SampleWorld, run_host
from worlds_oracle import oracle

from lmms_eval_worlds.card import SUBSETS

pytestmark = pytest.mark.host

TASKS = tuple(f"worlds_{subset}" for subset in SUBSETS)
PAIRED = tuple(f"worlds_{subset}" for subset in ("paired", "minimal", "counterfactual", "possible", "reversal"))


def test_right_answers_are_right_in_every_task(sample_world: SampleWorld, tmp_path: Path) -> None:
    (path,) = (sample_world.home / "worlds").rglob("*.parquet")
    table = pyarrow.parquet.read_table(path).to_pylist()
    assert {row["subset"] for row in table} == set(SUBSETS)
    assert {row["marked"] for row in table} == {"marked", "plain"} and all(row["clip_present"] for row in table)
    keys = tmp_path / "keys.jsonl"
    keys.write_text("".join(json.dumps({"id": row["item_id"], "response": oracle(row)}) + "\n" for row in table))
    right = run_host(
        "--model", "replay", "--model_args", f"predictions={keys}", "--tasks", "worlds",
        home=sample_world.home, out=tmp_path / "out", ranks=2,
    )  # fmt: skip
    for task in TASKS:
        asked = [sample["record"]["item_id"] for sample in right.samples_in_order(task)]
        assert asked == [row["item_id"] for row in table if f"worlds_{row['subset']}" == task]
        assert right.score(task, "unparsed_rate") == right.score(task, "unscored_rate") == 0, task
    for task in TASKS:
        assert right.score(task, "single_accuracy") == right.score(task, "sample_data") == 100, task
    for task in PAIRED:
        assert right.score(task, "pair_accuracy") == 100 and right.score(task, "pairs_scored") > 0, task
    assert right.score("worlds_counterfactual", "balanced_accuracy") == 100
    grounded = right.scores("worlds_evidence")
    assert {grounded[name] for name in ("accuracy", "faithful", "im_tiou", "im_viou")} == {100}
    assert grounded["spurious"] == 0
    # Of no part that the sample has is a score lower.
    parts = {
        f"{task} {name}": value
        for task in TASKS
        for name, value in right.scores(task).items()
        if name.startswith(("single_accuracy", "pair_accuracy", "verdict_accuracy", "faithful")) and value is not None
    }
    assert len(parts) > 50 and set(parts.values()) == {100}
