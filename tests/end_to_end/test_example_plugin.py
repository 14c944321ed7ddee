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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example built and installed into a folder of its own, so that this environment stays as it is."""
    root = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, root / "source")
    # With this environment's setuptools, which torch asks for: no package index has to be within reach.
    alone = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", *alone, "--target", str(root / "site")]
    finished = subprocess.run([*pip, str(root / "source")], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return root / "site"


def beside_others(site: Path) -> dict[str, str]:
    """The environment in which what is installed there is found as well."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))}


def test_the_examples_run_by_their_names_on_two_ranks(
    installed: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    def run(*words: str) -> HostRun:
        out, env = tmp_path / words[1], beside_others(installed)
        return run_host("--model", *words, home=sample_world.home, out=out, ranks=2, env=env)

    words = run("brightness", "--model_args", "threshold=0.5", "--tasks", "mvp_mini")
    assert 0 <= words.score("mvp_mini", "single_accuracy") <= 100 and words.score("mvp_mini", "unparsed_rate") == 0
    losses = run("motion", "--tasks", "intphys2_surprise")
    scores = losses.scores("intphys2_surprise")
    assert (scores["unparsed_rate"], scores["unscored_rate"], scores["non_finite_rate"]) == (0, 0, 0)
    for sample in losses.samples("intphys2_surprise"):
        fields = sample["record"]["fields"]
        assert all(loss > 0 for loss in fields["losses"]) and fields["timesteps"] == []


def test_losses_are_refused_where_words_are_asked_for(
    installed: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    run = run_host(
        "--model", "motion", "--tasks", "intphys2_main,intphys2_surprise",
        home=sample_world.home, out=tmp_path, env=beside_others(installed),
    )  # fmt: skip
    assert run.status != 0
    assert "intphys2_main takes words for an answer, but the model motion gives clip losses." in run.output
