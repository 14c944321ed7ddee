"""YoCausal through the real command: a tiny checkpoint on the sample, interrupted, and pairs without losses."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_run import HostRun, kill_host, own_command, run_host, start_host
from kept_answers import kept_answers
from small_clips import falling_ball, write_pair
from tiny_models import BUILDERS, write_tiny_model
from yocausal_world import read_metadata, write_metadata, write_release

from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

FAMILY = "wan2.1-1.3b"
SIZES = ",".join(f"{name}={value}" for name, value in BUILDERS[FAMILY][1].items())


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def home(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("world") / "home"
    made = own_command(home, "prepare", "yocausal", "--source", release)
    assert made.returncode == 0, made.stdout + made.stderr
    return home


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(FAMILY, tmp_path_factory.mktemp("tiny") / "wan")


@pytest.fixture(scope="module")
def command(checkpoint: Path) -> list[str]:
    """What the README runs, on a tiny checkpoint."""
    arguments = f"family={FAMILY},pretrained={checkpoint},dtype=float32,{SIZES}"
    return ["--model", "video_diffusion", "--model_args", arguments, "--tasks", "yocausal"]


@pytest.fixture(scope="module")
def whole(home: Path, command: list[str], tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_host(*command, home=home, out=tmp_path_factory.mktemp("whole"))


def result_file(run: HostRun) -> dict[str, Any]:
    text = run.submission_file("submissions/yocausal_results.json").read_text(encoding="utf-8")
    results: dict[str, Any] = json.loads(text)
    return results


def test_scores_and_result_file_agree(whole: HostRun, checkpoint: Path, home: Path) -> None:
    scores, result = whole.scores("yocausal"), result_file(whole)
    assert list(result) == [
        "model_info", "eval_settings", "dataset_paths", "per_dataset_metrics", "overall_metrics", "per_video_results",
    ]  # fmt: skip
    overall = result["overall_metrics"]
    for ours, theirs in {
        "rsi": "rsi", "rsi_causal": "rsi_dc", "rsi_non_causal": "rsi_dnc", "cci": "cci",
        "rsi_discriminable": "rsi_hd", "rsi_non_discriminable": "rsi_hnd",
    }.items():  # fmt: skip
        assert scores[ours] == pytest.approx(100 * overall[theirs]), ours
    datasets = {"animal": "animal", "general": "mit", "human": "kinetics", "physics": "physics"}
    for subset, dataset in datasets.items():
        assert scores[f"rsi_{subset}"] == pytest.approx(100 * result["per_dataset_metrics"][dataset]["rsi"])
    assert scores["cci_normalised"] == pytest.approx(100 * scores["cci"] / 8.67)
    assert (scores["tie_rate"], scores["non_finite_rate"], scores["unscored_rate"]) == (0, 0, 0)
    assert scores["submission_rows"] == len(result["per_video_results"]) == 8
    for pair in result["per_video_results"]:
        for side in ("forward", "backward"):
            steps = list(pair[f"{side}_metrics"]["step_losses"].values())
            assert len(steps) == 10
            assert pair[f"{side}_metrics"]["total_accumulated_loss"] == pytest.approx(sum(steps) / 10)
    # Weights that are not the family's own go by the name of their folder.
    about = result["model_info"]
    assert (about["model_name"], about["checkpoint"]) == (checkpoint.name, str(checkpoint))
    assert about["parameters"] > 1000
    shown = own_command(home, "report", whole.out)
    assert "vs 50" in shown.stdout and "SAMPLE DATA" in shown.stdout, shown.stderr
    ranked = own_command(home, "yocausal", "rank", whole.out, whole.out)
    assert f"{scores['rsi']:.2f}" in ranked.stdout, ranked.stderr


@pytest.mark.nightly
def test_a_killed_run_goes_on_where_it_was_on_two_ranks(
    whole: HostRun, home: Path, command: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start_host(*command, home=home, out=out)
    try:
        until = time.monotonic() + 240
        while run.poll() is None and time.monotonic() < until and len(kept_answers(out / "answers")) < 3:
            time.sleep(0.02)
    finally:
        kill_host(run)
    before = kept_answers(out / "answers")
    assert 3 <= len(before) < 8
    rest = run_host(*command, home=home, out=out, ranks=2)
    assert rest.scores("yocausal") == whole.scores("yocausal")
    assert result_file(rest) == result_file(whole)
    assert kept_answers(out / "answers").items() >= before.items() and len(kept_answers(out / "answers")) == 8
    assert rest.output.count(f"{len(before)} answers kept from before") == 1
    assert read_run(out).card["run"]["answers kept from before"] == len(before)


def test_pairs_that_cannot_be_measured_leave_the_rest_unharmed(
    release: Path, command: list[str], tmp_path: Path
) -> None:
    """One lacks a caption, one is too short, and one cannot be decoded; five are well."""
    bad, home = tmp_path / "release", tmp_path / "home"
    shutil.copytree(release, bad)
    entries = read_metadata(bad, "animal")
    entries[0]["prompt"] = ""
    write_metadata(bad, "animal", entries)
    short = write_pair(tmp_path, "short", falling_ball(np.random.default_rng(0))[:2])
    for side, file in zip(("fwd", "bwd"), short, strict=True):
        shutil.copy(file, bad / "subset" / "general" / side / "general_0001.mp4")
    made = own_command(home, "prepare", "yocausal", "--source", bad)
    assert "1 of 8 pairs have no caption and can be scored with prompt=null only: animal_1." in made.stdout
    cut = bad / "subset" / "human" / "bwd" / "human_0001.mp4"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 3])
    run = run_host(*command, home=home, out=tmp_path / "out")
    scores = run.scores("yocausal")
    assert scores["unscored_rate"] == pytest.approx(100 * 3 / 8)
    assert (scores["submission_rows"], scores["unparsed_rate"]) == (5, 0)
    start = run.output.index("yocausal: 3 of 8 pairs have no losses and leave every score:")
    said = run.output[start:].splitlines()[1:4]
    clip = home / "yocausal" / "videos" / "test" / "human" / "bwd" / "human_0001.mp4"
    assert sorted(line.replace("\x1b[0m", "").strip() for line in said) == [
        "animal_1: Expected a caption for animal_1, but got none; or run prompt=null.",
        "general_1: Expected at least 5 frames at the model's frame rate, but the clip has 2.",
        f"human_1: Expected {clip} to be a video, but it cannot be opened.",
    ]
    rescored = own_command(home, "rescore", run.out, "--out", tmp_path / "again")
    assert "scores equal" in rescored.stdout, rescored.stderr
    assert result_file(HostRun(0, "", tmp_path / "again")) == result_file(run)
