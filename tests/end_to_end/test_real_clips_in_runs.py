"""Public clips under free licences through whole runs: as pairs for a diffusion model, and in the views of a model that
answers in words. The weights are tiny and random, all else is what users run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from host_run import own_command, qwen_arguments, run_host
from oracles import evidence_path
from tiny_models import BUILDERS, write_tiny_model
from tiny_vlms import write_tiny_family

from lmms_eval_tasks.host.tasks.task_view import FOLDER
from lmms_eval_tasks.utils.data.clips import PyavFrames

pytestmark = pytest.mark.host

FAMILY = "wan2.1-1.3b"
SIZES = ",".join(f"{name}={value}" for name, value in BUILDERS[FAMILY][1].items())
VIEWS = [f"yocausal_vlm_{view}" for view in ("blind", "single_frame", "shuffled")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pairs that the clips and their reversals make, of the first second of each."""
    clips, home = evidence_path("clips"), tmp_path_factory.mktemp("real") / "home"
    made = own_command(home, "prepare", "yocausal", "--from-videos", clips, "--seconds", "1")
    assert made.returncode == 0, made.stdout + made.stderr
    return home


def test_own_videos_become_pairs_that_hold_the_same_frames(home: Path) -> None:
    names = {path.stem for path in evidence_path("clips").iterdir()}
    videos = home / "yocausal" / "videos" / "test" / "general"
    forward, backward = (sorted((videos / side).iterdir()) for side in ("fwd", "bwd"))
    assert {path.name.rpartition("-")[0] for path in forward} == names and len(forward) == len(backward) == 7
    for one, other in zip(forward, backward, strict=True):
        first, second = PyavFrames(one), PyavFrames(other)
        assert first.count == second.count >= 17
        numbers = [0, first.count // 2, first.count - 1]
        mirrored = [first.count - 1 - number for number in numbers]
        assert np.array_equal(first.read(numbers), second.read(mirrored)), one.name


@pytest.mark.nightly
def test_a_diffusion_model_measures_them(home: Path, tmp_path: Path) -> None:
    checkpoint = write_tiny_model(FAMILY, tmp_path / "wan")
    arguments = f"family={FAMILY},pretrained={checkpoint},dtype=float32,prompt=null,{SIZES}"
    model = ("--model", "video_diffusion", "--model_args", arguments)
    run = run_host(*model, "--tasks", "yocausal", home=home, out=tmp_path / "run")
    scores = run.scores("yocausal")
    assert (scores["submission_rows"], scores["unscored_rate"], scores["non_finite_rate"]) == (7, 0, 0)
    for sample in run.samples("yocausal"):
        loss = json.loads(sample["filtered_resps"])["loss"]
        assert loss["forward"] > 0 and loss["backward"] > 0 and loss["forward"] != loss["backward"]


@pytest.mark.nightly
def test_a_model_of_words_sees_their_views(home: Path, tmp_path: Path) -> None:
    model = qwen_arguments(write_tiny_family("qwen2_5_vl", tmp_path / "tiny"))
    run = run_host(*model, "--tasks", ",".join(VIEWS), home=home, out=tmp_path / "run")
    for task in VIEWS:
        records = [sample["record"] for sample in run.samples(task)]
        assert len(records) == 14 and {record["outcome"] for record in records} <= {"correct", "wrong", "unparsed"}
    stored = {path.suffix for path in (home / FOLDER).rglob("*") if path.is_file()}
    assert {".png", ".mp4"} <= stored
