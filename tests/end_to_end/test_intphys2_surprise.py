"""Surprise on the sample, through the real command: a tiny diffusion model, replay, and what reads a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from host_run import HostRun, SampleWorld, own_command, run_host
from tiny_models import BUILDERS, write_tiny_model

from lmms_eval_tasks.utils.core.files import file_sha256

pytestmark = pytest.mark.host

FAMILY = "wan2.1-1.3b"
SIZES = ",".join(f"{name}={value}" for name, value in BUILDERS[FAMILY][1].items())
TASK = "intphys2_surprise"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    checkpoint = write_tiny_model(FAMILY, tmp_path_factory.mktemp("tiny") / "wan")
    arguments = f"family={FAMILY},pretrained={checkpoint},dtype=float32,{SIZES}"
    return ["--model", "video_diffusion", "--model_args", arguments]


@pytest.fixture(scope="module")
def measured(model: list[str], sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("measured")
    return run_host(*model, "--tasks", TASK, home=sample_world.home, out=out)


def records(run: HostRun) -> list[Any]:
    return sorted((sample["record"] for sample in run.samples(TASK)), key=lambda record: record["item_id"])


def test_a_diffusion_model_is_asked_without_a_caption(measured: HostRun) -> None:
    scores, samples = measured.scores(TASK), measured.samples(TASK)
    assert (scores["unparsed_rate"], scores["unscored_rate"], scores["pairs_scored"]) == (0, 0, len(samples))
    won = [sample["record"]["outcome"] == "correct" for sample in samples]
    assert scores["plausibility_preference"] == pytest.approx(100 * sum(won) / len(won))
    noise = {}
    for sample in samples:
        answer, record = json.loads(sample["filtered_resps"]), sample["record"]
        assert answer["settings"]["prompt"] == "null" and len(answer["curves"]) == len(answer["losses"]) == 2
        assert len(record["fields"]["lowest"]) == len(record["fields"]["timesteps"]) == 10
        noise.setdefault(record["group_id"], set()).add(json.dumps(answer["details"]["seeds"][0]))
    assert all(len(seeds) == 1 for seeds in noise.values()) and len(set.union(*noise.values())) == len(noise)


def test_two_ranks_score_as_one_and_so_do_saved_and_kept_answers(
    measured: HostRun, model: list[str], sample_world: SampleWorld, tmp_path: Path
) -> None:
    two = run_host(*model, "--tasks", TASK, home=sample_world.home, out=tmp_path / "two", ranks=2)
    replay = ["--model", "replay", "--model_args", f"predictions={measured.out}"]
    replayed = run_host(*replay, "--tasks", TASK, home=sample_world.home, out=tmp_path / "again")
    shutil.copytree(measured.out / "answers", tmp_path / "kept" / "answers")
    kept = run_host(*model, "--tasks", TASK, home=sample_world.home, out=tmp_path / "kept")
    assert f"{len(measured.samples(TASK))} answers kept from before" in kept.output
    for run in (two, replayed, kept):
        assert run.scores(TASK) == measured.scores(TASK)
        assert records(run) == records(measured)


def test_the_commands_that_read_a_run(measured: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    page = tmp_path / "page"
    for command in (("report", measured.out, "--html", page), ("rescore", measured.out)):
        done = own_command(sample_world.home, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    text = "".join(file.read_text("utf-8") for file in (page, *page.rglob("*.html")) if file.is_file())
    assert "Possible preferred, by timestep" in text and "909.091" in text


def test_data_that_was_prepared_without_motion_stops_this_task_alone(sample_world: SampleWorld, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(sample_world.home / "intphys2", home / "intphys2", symlinks=True)
    path, manifest = home / "intphys2" / "main.parquet", home / "intphys2" / "manifest.json"
    before = file_sha256(path)
    pq.write_table(pq.read_table(path).drop_columns(["motion"]), path)
    manifest.write_text(manifest.read_text("utf-8").replace(before, file_sha256(path)), encoding="utf-8")
    run = run_host("--model", "random_answer", "--tasks", TASK, home=home, out=tmp_path / "surprise")
    assert run.status != 0
    assert "IntPhys 2 was prepared by a version that measured no motion" in run.output
    assert "Run:  lmms-eval-tasks prepare intphys2" in run.output
    other = run_host("--model", "random_answer", "--tasks", "intphys2_main", home=home, out=tmp_path / "main")
    assert other.score("intphys2_main", "unparsed_rate") == 0
