"""Surprise on the sample, through the real command: a tiny diffusion model, on two ranks as on one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host
from tiny_models import BUILDERS, write_tiny_model

pytestmark = pytest.mark.host

FAMILY = "wan2.1-1.3b"
SIZES = ",".join(f"{name}={value}" for name, value in BUILDERS[FAMILY][1].items())
TASK = "intphys2_surprise"


@pytest.mark.nightly
def test_a_diffusion_model_is_asked_without_a_caption_and_two_ranks_score_as_one(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    checkpoint = write_tiny_model(FAMILY, tmp_path / "wan")
    arguments = f"family={FAMILY},pretrained={checkpoint},dtype=float32,{SIZES}"
    model = ("--model", "video_diffusion", "--model_args", arguments, "--tasks", TASK)
    one, two = (run_host(*model, home=sample_world.home, out=tmp_path / str(ranks), ranks=ranks) for ranks in (1, 2))
    assert two.scores(TASK) == one.scores(TASK) and records(two) == records(one)

    scores, samples = one.scores(TASK), one.samples(TASK)
    assert (scores["unparsed_rate"], scores["unscored_rate"], scores["pairs_scored"]) == (0, 0, len(samples))
    won = [sample["record"]["outcome"] == "correct" for sample in samples]
    assert scores["plausibility_preference"] == pytest.approx(100 * sum(won) / len(won))
    noise: dict[str, set[str]] = {}
    for sample in samples:
        answer, record = json.loads(sample["filtered_resps"]), sample["record"]
        assert answer["settings"]["prompt"] == "null" and len(answer["curves"]) == len(answer["losses"]) == 2
        assert len(record["fields"]["lowest"]) == len(record["fields"]["timesteps"]) == 10
        noise.setdefault(record["group_id"], set()).add(json.dumps(answer["details"]["seeds"][0]))
    assert all(len(seeds) == 1 for seeds in noise.values()) and len(set.union(*noise.values())) == len(noise)

    page = tmp_path / "page.html"
    for command in (("report", one.out, "--html", page), ("rescore", one.out)):
        done = own_command(sample_world.home, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    text = page.read_text("utf-8")
    assert "Possible preferred, by timestep" in text and "909.091" in text


def records(run: HostRun) -> list[Any]:
    return sorted((sample["record"] for sample in run.samples(TASK)), key=lambda record: record["item_id"])
