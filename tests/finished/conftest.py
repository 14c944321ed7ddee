from __future__ import annotations

from pathlib import Path

import pytest
from hook_runs import write_hook_run
from submission_world import EVERY, prepare_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data home of the small world."""
    root = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root / "releases")
    return root / "home"


@pytest.fixture
def world_home(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That home, named by the environment."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(world))
    return world


@pytest.fixture(scope="session")
def run(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(world))
        return write_hook_run(tmp_path_factory.mktemp("run") / "out", EVERY)
