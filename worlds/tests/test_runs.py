"""Worlds on its sample, through the commands that users run: right answers, and what `check` finds."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sysconfig
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from commands import called
from worlds_oracle import oracle

import lmms_eval_worlds
from lmms_eval_worlds.card import SUBSETS

PAIRED = ("paired", "minimal", "counterfactual", "possible", "reversal")
SCRIPTS = Path(sysconfig.get_path("scripts"))


@pytest.fixture(scope="module")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home in which the sample is prepared."""
    folder = tmp_path_factory.mktemp("sample")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(folder / "home"))
        called("sample", "worlds", "--out", folder / "sample", "--prepare")
    return folder / "home"


def run(home: Path, out: Path, ranks: int, *arguments: str) -> dict[str, dict[str, Any]]:
    """Run lmms-eval; task to score to value."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    launched = [str(SCRIPTS / "accelerate"), "launch", "--cpu", "--num_processes", str(ranks), "--num_machines", "1",
                "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", port,
                "-m", "lmms_eval"]  # fmt: skip
    alone = [str(SCRIPTS / "lmms-eval")]
    command = [*(launched if ranks > 1 else alone), *arguments, "--output_path", str(out), "--log_samples"]
    offline = {"HF_HOME": str(home.parent / "hf"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **offline, "ACCELERATE_USE_CPU": "true", "LMMS_EVAL_TASKS_HOME": str(home)}
    out.mkdir()
    done = subprocess.run(command, cwd=out, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.rglob("*_scores.json")
    parts = json.loads(path.read_text(encoding="utf-8"))["parts"]
    return {part["name"]: {score["metric"]: score["value"] for score in part["scores"]} for part in parts}


def samples_of(out: Path, task: str) -> list[Mapping[str, Any]]:
    """The samples by their documents; of several ranks the host logs those of one after those of another."""
    (path,) = out.rglob(f"*_samples_{task}.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(lines, key=lambda sample: int(sample["doc_id"]))


@pytest.mark.host
@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_right_answers_are_right_in_every_task(sample_home: Path, tmp_path: Path, ranks: int) -> None:
    (path,) = (sample_home / "worlds").rglob("*.parquet")
    table = pyarrow.parquet.read_table(path).to_pylist()
    assert {row["subset"] for row in table} == set(SUBSETS)
    assert {row["marked"] for row in table} == {"marked", "plain"} and all(row["clip_present"] for row in table)
    keys, out = tmp_path / "keys.jsonl", tmp_path / "out"
    keys.write_text("".join(json.dumps({"id": row["item_id"], "response": oracle(row)}) + "\n" for row in table))
    model = ["--model", "replay", "--model_args", f"predictions={keys}"]
    right = run(sample_home, out, ranks, *model, "--tasks", "worlds")
    for subset in SUBSETS:
        asked = [sample["record"]["item_id"] for sample in samples_of(out, f"worlds_{subset}")]
        assert asked == [row["item_id"] for row in table if row["subset"] == subset]
        found = right[f"worlds_{subset}"]
        assert found["unparsed_rate"] == found["unscored_rate"] == 0, subset
        assert found["single_accuracy"] == 100, subset
        if subset in PAIRED:
            assert found["pair_accuracy"] == 100 and found["pairs_scored"] > 0, subset
    assert right["worlds_counterfactual"]["balanced_accuracy"] == 100
    grounded = right["worlds_evidence"]
    assert {grounded[name] for name in ("accuracy", "faithful", "im_tiou", "im_viou")} == {100}
    assert grounded["spurious"] == 0
    # Of no part that the sample has is a score lower.
    parts = {
        f"{subset} {name}": value
        for subset in SUBSETS
        for name, value in right[f"worlds_{subset}"].items()
        if name.startswith(("single_accuracy", "pair_accuracy", "verdict_accuracy", "faithful")) and value is not None
    }
    assert len(parts) > 50 and set(parts.values()) == {100}


@pytest.mark.slow
def test_a_thorough_check_finds_nothing_wrong_and_no_version_stands_for_two_things(
    sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_home))
    said = called("check", "worlds", "--thorough")
    assert "26 example rows" in said and "not kept yet" not in said


def test_every_version_has_its_line_on_the_page() -> None:
    folder = Path(__file__).parents[1]
    page = (folder / "README.md").read_text(encoding="utf-8")
    entries = [line.partition(":")[0] for line in page.splitlines() if line.startswith("- ")]
    versions = {
        line.removeprefix("  version: ")
        for path in (folder / "lmms_eval_worlds").glob("*yaml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("  version: ")
    }
    assert versions and all(any(version in entry for entry in entries) for version in versions)


def test_the_package_and_its_distribution_have_one_version() -> None:
    assert lmms_eval_worlds.__version__ == version("lmms-eval-worlds")
