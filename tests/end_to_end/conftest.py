from __future__ import annotations

from pathlib import Path

import pytest
from host_run import SampleWorld, own_command
from shared import made_once

from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm


@pytest.fixture(scope="session")
def sample_world(tmp_path_factory: pytest.TempPathFactory) -> SampleWorld:
    root = made_once(tmp_path_factory, "sample_world", write_world)
    return SampleWorld(root / "home", root / "sample")


@pytest.fixture(scope="session")
def tiny_qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a tiny Qwen2.5-VL."""
    return made_once(tmp_path_factory, "tiny_qwen", lambda root: write_tiny_vlm(root / "qwen")) / "qwen"


def write_world(root: Path) -> None:
    made = own_command(root / "home", "sample", "--out", root / "sample", "--prepare")
    assert made.returncode == 0, made.stdout + made.stderr
