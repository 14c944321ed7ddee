from __future__ import annotations

import pytest
from host_run import SampleWorld, own_command


@pytest.fixture(scope="session")
def sample_world(tmp_path_factory: pytest.TempPathFactory) -> SampleWorld:
    root = tmp_path_factory.mktemp("world")
    made = own_command(root / "home", "sample", "--out", root / "sample", "--prepare")
    assert made.returncode == 0, made.stdout + made.stderr
    return SampleWorld(root / "home", root / "sample")
