from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger
from submission_world import prepare_world


@pytest.fixture
def log() -> Iterator[list[str]]:
    """The lines that loguru writes."""
    lines: list[str] = []
    sink = logger.add(lines.append, format="{message}")
    yield lines
    logger.remove(sink)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with the small world, which tests read and leave as it is."""
    root = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root / "releases")
    return root / "home"


@pytest.fixture
def world(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That home, named by the environment."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(prepared))
    return prepared


@pytest.fixture
def own_world(prepared: Path, home: Path) -> Path:
    """A copy of that home, which the test may change."""
    shutil.copytree(prepared, home, symlinks=True)
    return home
