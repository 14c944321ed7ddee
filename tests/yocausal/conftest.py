"""The sample release, written and prepared once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sample_runs import at
from shared import made_once
from yocausal_world import write_release

from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.yocausal.prepare import prepare


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds `release`, and `home`, in which it is prepared; no test may change them."""

    def write(folder: Path) -> None:
        with at(folder / "home"):
            prepare(Preparation(), str(write_release(folder / "release")))

    return made_once(tmp_path_factory, "yocausal", write)


@pytest.fixture
def release(written: Path, tmp_path: Path) -> Path:
    """A release that the test may spoil."""
    return shutil.copytree(written / "release", tmp_path / "release")


@pytest.fixture
def prepared(written: Path, home: Path) -> Path:
    """The test's own data home, in which the release is prepared."""
    return shutil.copytree(written / "home", home, symlinks=True)
