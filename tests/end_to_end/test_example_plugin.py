"""The README's examples of own models: installed as a package and run by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, run_host

pytestmark = pytest.mark.host

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "model_plugin"


@pytest.mark.nightly
def test_the_examples_run_by_their_names_on_two_ranks(sample_world: SampleWorld, tmp_path: Path) -> None:
    """Built and installed into a folder of their own, so that this environment stays as it is."""
    shutil.copytree(EXAMPLE, tmp_path / "source")
    # With this environment's setuptools, which torch asks for: no package index has to be within reach.
    alone = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", *alone, "--target", str(tmp_path / "site")]
    finished = subprocess.run([*pip, str(tmp_path / "source")], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    beside_others = os.pathsep.join(filter(None, (str(tmp_path / "site"), os.environ.get("PYTHONPATH"))))

    def run(*words: str, ranks: int = 2) -> HostRun:
        out, env = tmp_path / f"{words[0]}{ranks}", {"PYTHONPATH": beside_others}
        return run_host("--model", *words, home=sample_world.home, out=out, ranks=ranks, env=env)

    words = run("brightness", "--model_args", "threshold=0.5", "--tasks", "mvp_mini")
    assert 0 <= words.score("mvp_mini", "single_accuracy") <= 100 and words.score("mvp_mini", "unparsed_rate") == 0
    shown = run(
        "brightness", "--tasks", "mvp_mini_intuitive_physics_single_frame,causalvqa_debug_paired_blind", ranks=1
    )
    for task in ("mvp_mini_intuitive_physics_single_frame", "causalvqa_debug_paired_blind"):
        assert {sample["record"]["answered"] for sample in shown.samples(task)} == {"B"}, "no frame is brighter"
    losses = run("motion", "--tasks", "intphys2_surprise")
    scores = losses.scores("intphys2_surprise")
    assert (scores["unparsed_rate"], scores["unscored_rate"], scores["non_finite_rate"]) == (0, 0, 0)
    for sample in losses.samples("intphys2_surprise"):
        fields = sample["record"]["fields"]
        assert all(loss > 0 for loss in fields["losses"]) and fields["timesteps"] == []
    refused = run("motion", "--tasks", "intphys2_main,intphys2_surprise", ranks=1)
    assert refused.status != 0
    assert "intphys2_main takes words for an answer, but the model motion gives clip losses." in refused.output
