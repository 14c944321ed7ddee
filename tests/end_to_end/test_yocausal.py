"""YoCausal through the real command: a tiny checkpoint on the sample, on one rank and two, resumed, and ill-treated."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from host_run import HostRun, kill_host, own_command, run_host, start_host
from kept_answers import kept_answers
from merged_runs import difference, merge_parts, run_parts
from small_clips import falling_ball, write_pair
from tiny_models import BUILDERS, write_tiny_model
from yocausal_world import read_metadata, write_metadata, write_release

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.yocausal.ranking import rank_runs

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


def command(checkpoint: Path, **choices: Any) -> list[str]:
    """What the README runs, on a tiny checkpoint."""
    arguments = f"family={FAMILY},pretrained={checkpoint},dtype=float32,{SIZES}"
    arguments += "".join(f",{name}={value}" for name, value in choices.items())
    return ["--model", "video_diffusion", "--model_args", arguments, "--tasks", "yocausal"]


def measure(home: Path, checkpoint: Path, out: Path, *more: str, ranks: int = 1, **choices: Any) -> HostRun:
    return run_host(*command(checkpoint, **choices), *more, home=home, out=out, ranks=ranks)


@pytest.fixture(scope="module")
def whole(home: Path, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return measure(home, checkpoint, tmp_path_factory.mktemp("whole"), cache="none")


def result_file(run: HostRun) -> dict[str, Any]:
    return json.loads(run.submission_file("submissions/yocausal_results.json").read_text(encoding="utf-8"))


def test_scores_and_result_file_agree(whole: HostRun, checkpoint: Path) -> None:
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
    assert (result["model_info"]["model_name"], result["model_info"]["checkpoint"]) == (
        checkpoint.name,
        str(checkpoint),
    )
    assert result["model_info"]["parameters"] > 1000


def test_three_parts_merged_are_the_whole_run(whole: HostRun, home: Path, checkpoint: Path, tmp_path: Path) -> None:
    parts = run_parts(*command(checkpoint, cache="none"), home=home, out=tmp_path / "parts")
    merged = merge_parts(parts, home, tmp_path / "merged")
    assert difference(whole, merged) == []
    assert sum(len(part.samples("yocausal")) for part in parts) == 8


def test_a_killed_run_goes_on_where_it_was_on_two_ranks(
    whole: HostRun, home: Path, checkpoint: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start_host(*command(checkpoint), home=home, out=out)
    try:
        until = time.monotonic() + 240
        while run.poll() is None and time.monotonic() < until and len(kept_answers(out / "answers")) < 3:
            time.sleep(0.02)
    finally:
        kill_host(run)
    before = kept_answers(out / "answers")
    assert 3 <= len(before) < 8
    rest = run_host(*command(checkpoint), home=home, out=out, ranks=2)
    assert rest.scores("yocausal") == whole.scores("yocausal")
    assert result_file(rest) == result_file(whole)
    assert kept_answers(out / "answers").items() >= before.items() and len(kept_answers(out / "answers")) == 8
    assert rest.output.count(f"{len(before)} answers kept from before") == 1
    assert read_run(out).card["run"]["answers kept from before"] == len(before)


def test_report_and_rank_of_a_run(whole: HostRun, home: Path, tmp_path: Path) -> None:
    shown = own_command(home, "report", whole.out)
    assert shown.returncode == 0, shown.stderr
    assert "vs 50" in shown.stdout and "SAMPLE DATA" in shown.stdout
    ids = [sample["record"]["item_id"] for sample in whole.samples("yocausal")]
    labels, values = tmp_path / "other_judge.jsonl", tmp_path / "models.csv"
    lines = [json.dumps({"id": item_id, "vlm_causality": n % 2 == 0}) + "\n" for n, item_id in enumerate(sorted(ids))]
    labels.write_text("".join(lines), encoding="utf-8")
    names = [run.model for run in rank_runs([read_run(whole.out)] * 2).runs]
    rows = [f'"{name}",{number}' for number, name in enumerate(names)]
    values.write_text("\n".join(["model,parameters", *rows, ""]), encoding="utf-8")
    options = ("--labels", labels, "--against", values)
    ranked = own_command(home, "yocausal", "rank", whole.out, whole.out, *options)
    assert "labels: other_judge" in ranked.stdout and "rank against other values" in ranked.stdout
    assert ranked.returncode == 0, ranked.stderr
    assert max(map(len, ranked.stdout.splitlines())) <= 100
    assert f"{whole.score('yocausal', 'rsi'):.2f}" in ranked.stdout


@pytest.fixture(scope="module")
def ill(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose pairs lack a caption, are too short, and cannot be decoded; five are well."""
    root = tmp_path_factory.mktemp("ill")
    bad = root / "release"
    shutil.copytree(release, bad)
    entries = read_metadata(bad, "animal")
    entries[0]["prompt"] = ""
    write_metadata(bad, "animal", entries)
    short = write_pair(root, "short", falling_ball(np.random.default_rng(0))[:2])
    for side, file in zip(("fwd", "bwd"), short, strict=True):
        shutil.copy(file, bad / "subset" / "general" / side / "general_0001.mp4")
    home = root / "home"
    made = own_command(home, "prepare", "yocausal", "--source", bad)
    assert "1 of 8 pairs have no caption and can be scored with prompt=null only: animal_1." in made.stdout
    whole = (bad / "subset" / "human" / "bwd" / "human_0001.mp4").read_bytes()
    (bad / "subset" / "human" / "bwd" / "human_0001.mp4").write_bytes(whole[: len(whole) // 3])
    return home


def test_pairs_that_cannot_be_measured_leave_the_rest_unharmed(ill: Path, checkpoint: Path, tmp_path: Path) -> None:
    run = measure(ill, checkpoint, tmp_path, cache="none")
    scores = run.scores("yocausal")
    assert scores["unscored_rate"] == pytest.approx(100 * 3 / 8)
    assert (scores["submission_rows"], scores["unparsed_rate"]) == (5, 0)
    start = run.output.index("yocausal: 3 of 8 pairs have no losses and leave every score:")
    told = run.output[start:].splitlines()[1:4]
    clip = ill / "yocausal" / "videos" / "test" / "human" / "bwd" / "human_0001.mp4"
    assert sorted(line.replace("\x1b[0m", "").strip() for line in told) == [
        "animal_1: Expected a caption for animal_1, but got none; or run prompt=null.",
        "general_1: Expected at least 5 frames at the model's frame rate, but the clip has 2.",
        f"human_1: Expected {clip} to be a video, but it cannot be opened.",
    ]


def test_losses_that_are_not_finite_are_counted_apart(home: Path, checkpoint: Path, tmp_path: Path) -> None:
    import safetensors.torch

    broken = tmp_path / "broken"
    shutil.copytree(checkpoint, broken)
    (file,) = (broken / "transformer").glob("*.safetensors")
    weights = safetensors.torch.load_file(file)
    safetensors.torch.save_file(
        {name: weight * float("nan") for name, weight in weights.items()}, file, {"format": "pt"}
    )
    run = measure(home, broken, tmp_path / "out", cache="none")
    scores = run.scores("yocausal")
    assert (scores["non_finite_rate"], scores["tie_rate"], scores["unscored_rate"], scores["rsi"]) == (100, 0, 0, 0)
    assert {pair["comparison"]["winner"] for pair in result_file(run)["per_video_results"]} == {"tie"}


def test_an_unknown_family_and_a_model_of_words_are_refused(home: Path, tmp_path: Path) -> None:
    run = run_host(
        "--model", "video_diffusion", "--model_args", "family=sora", "--tasks", "yocausal", home=home, out=tmp_path
    )
    assert run.status != 0 and "but got 'sora'." in run.output
    assert run.output.count("Expected family to be one of wan2.1-1.3b, ") == 1
    run = run_host(
        "--model", "qwen2_5_vl", "--model_args", "pretrained=a-model-that-would-fail-to-load",
        "--tasks", "yocausal,yocausal_vlm", home=home, out=tmp_path / "out",
    )  # fmt: skip
    assert run.status != 0
    assert run.output.strip().endswith(
        "yocausal takes denoising losses for an answer, but the model qwen2_5_vl gives words.\n"
        "  Models for it: video_diffusion.\n"
        "  Tasks of the same benchmark for qwen2_5_vl: yocausal_vlm."
    )


def test_own_videos_run_too(checkpoint: Path, tmp_path: Path, release: Path) -> None:
    videos, home = tmp_path / "videos", tmp_path / "home"
    (videos / "kitchen").mkdir(parents=True)
    shutil.copy(release / "subset" / "animal" / "fwd" / "animal_0001.mp4", videos / "kitchen" / "fall.mp4")
    shutil.copy(release / "subset" / "animal" / "fwd" / "animal_0002.mp4", videos / "round.mp4")
    captions = tmp_path / "captions.jsonl"
    captions.write_text('{"file": "kitchen/fall.mp4", "caption": "a ball falls"}\n', encoding="utf-8")
    made = own_command(home, "prepare", "yocausal", "--from-videos", videos, "--captions", captions, "--seconds", "2")
    assert made.returncode == 0, made.stderr
    with av.open(str(next(home.rglob("fwd/fall-*.mp4")))) as container:
        assert sum(1 for _ in container.decode(video=0)) == 20
    run = measure(home, checkpoint, tmp_path / "out", cache="none", prompt="null")
    assert run.score("yocausal", "unscored_rate") == 0
    assert run.score("yocausal", "cci") is None
