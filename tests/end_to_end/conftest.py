from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest
from host_run import SampleWorld, environment

COMMAND = Path(sysconfig.get_path("scripts")) / "lmms-eval-tasks"


@pytest.fixture(scope="session")
def sample_world(tmp_path_factory: pytest.TempPathFactory) -> SampleWorld:
    root = tmp_path_factory.mktemp("world")
    made = subprocess.run(
        [str(COMMAND), "sample", "--out", str(root / "sample"), "--prepare"],
        env=environment(root / "home"),
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return SampleWorld(root / "home", root / "sample")
