from __future__ import annotations

from pathlib import Path

import pytest
from host_run import GUESSED, HostRun, SampleWorld, own_command, run_host
from shared import made_once

from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm


@pytest.fixture(scope="session")
def sample_world(tmp_path_factory: pytest.TempPathFactory) -> SampleWorld:
    root = made_once(tmp_path_factory, "sample_world", write_world)
    return SampleWorld(root / "home", root / "sample")


@pytest.fixture(scope="session")
def guessed(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """Guesses in every task that takes words or losses of clips, on two ranks, so that items are logged in another
    order than the data's; no test may change the run."""

    def guess(root: Path) -> None:
        done = run_host(
            "--model", "random_answer", "--tasks", GUESSED, home=sample_world.home, out=root / "run", ranks=2,
            env={"LMMS_EVAL_TASKS_JUDGE": "none"},
        )  # fmt: skip
        assert done.results()
        (root / "output").write_text(done.output, encoding="utf-8")

    root = made_once(tmp_path_factory, "guessed", guess)
    return HostRun(0, (root / "output").read_text(encoding="utf-8"), root / "run")


@pytest.fixture(scope="session")
def tiny_qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a tiny Qwen2.5-VL."""
    return made_once(tmp_path_factory, "tiny_qwen", lambda root: write_tiny_vlm(root / "qwen")) / "qwen"


def write_world(root: Path) -> None:
    made = own_command(root / "home", "sample", "--out", root / "sample", "--prepare")
    assert made.returncode == 0, made.stdout + made.stderr
