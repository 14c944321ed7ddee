"""CaST-Bench on the sample: a solver that shows its evidence, a real adapter, and the picture of an answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from host_run import HostRun, SampleWorld, run_host

from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("solved")
    return run_host("--model", "sample_solver", "--tasks", "cast_bench", home=sample_world.home, out=out)


def predictions(run: HostRun) -> bytes:
    return run.submission_file("submissions/cast_bench_predictions.jsonl").read_bytes()


def test_the_solver_is_right_and_its_evidence_holds(solved: HostRun) -> None:
    scores = solved.scores("cast_bench")
    for name in ("accuracy", "faithful", "faithful_strict", "im_tiou", "schema_valid_rate", "sample_data"):
        assert scores[name] == 100, name
    assert scores["im_viou"] > 80
    assert (scores["submission_rows"], scores["false_positives"], scores["unscored_rate"]) == (12, 0, 0)
    for category in (
        "causal_explanation", "counterfactual_reasoning", "inferential_description", "predictive_anticipation",
    ):  # fmt: skip
        assert scores[f"accuracy_{category}"] == 100
    assert "do not look it" not in solved.output


def test_two_ranks_score_as_one(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    two = run_host("--model", "sample_solver", "--tasks", "cast_bench", home=sample_world.home, out=tmp_path, ranks=2)
    assert two.scores("cast_bench") == solved.scores("cast_bench")
    assert predictions(two) == predictions(solved)


@pytest.fixture(scope="module")
def tiny_qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_vlm(tmp_path_factory.mktemp("tiny") / "qwen")


def run_qwen(model: str, checkpoint: Path, home: Path, out: Path, **more: Any) -> HostRun:
    arguments = "device_map=cpu,attn_implementation=eager,max_num_frames=4,min_pixels=3136,max_pixels=25088"
    return run_host(
        "--model", model, "--model_args", f"pretrained={checkpoint},{arguments}", "--device", "cpu",
        "--gen_kwargs", "max_new_tokens=16", "--tasks", "cast_bench", home=home, out=out, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def asked(tiny_qwen: Path, sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_qwen("qwen2_5_vl", tiny_qwen, sample_world.home, tmp_path_factory.mktemp("asked"))


def test_a_real_adapter_is_shown_the_clips_and_scored(asked: HostRun) -> None:
    scores = asked.scores("cast_bench")
    assert all(math.isfinite(scores[name]) for name in ("accuracy", "im_viou", "json_valid_rate"))
    assert (scores["unscored_rate"], scores["submission_rows"]) == (0, 12)
    samples = asked.samples("cast_bench")
    assert len(samples) == 12
    for sample in samples:
        assert isinstance(sample["filtered_resps"], str)
        boxes = sample["record"]["fields"]["boxes"]
        # Clips of 192 by 144 pixels fit the limits; sides are made multiples of 28.
        assert boxes["convention"] == "xyxy_resized" and all(side % 28 == 0 for side in boxes["seen"])


def test_a_real_adapter_answers_on_two_ranks_as_on_one(
    asked: HostRun, tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    two = run_qwen(
        "qwen_on_cpu_ranks", tiny_qwen, sample_world.home, tmp_path / "out", ranks=2,
        env={"LMMS_EVAL_TASKS_BOXES": "xyxy_resized"},
    )  # fmt: skip
    assert two.scores("cast_bench") == asked.scores("cast_bench")
    assert predictions(two) == predictions(asked)
    assert {sample["record"]["item_id"] for sample in two.samples("cast_bench")} == {
        sample["record"]["item_id"] for sample in asked.samples("cast_bench")
    }
