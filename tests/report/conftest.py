from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sample_runs import TASKS, prepare_sample, sometimes, write_sample_run
from shared import made_once

from lmms_eval_tasks.report.page import write_page
from lmms_eval_tasks.utils.runs.run import read_run


@contextmanager
def at(home: Path) -> Iterator[None]:
    """A data home, for as long as it is needed: other tests of the session have theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        yield


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample world, prepared in a data home."""

    def prepare(root: Path) -> None:
        with at(root / "home"):
            prepare_sample(root / "sample")

    return made_once(tmp_path_factory, "page", prepare) / "home"


@pytest.fixture(autouse=True)
def home(sample_home: Path) -> Iterator[None]:
    """Every test of a page reads the sample world."""
    with at(sample_home):
        yield


@pytest.fixture(scope="session")
def sample_runs(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of every task on the sample, one better than the other."""
    root = tmp_path_factory.mktemp("runs")
    tasks = list(TASKS)
    with at(sample_home):
        return (
            write_sample_run(root / "careful-7b", tasks, sometimes(1, 0.75)),
            write_sample_run(root / "hasty-2b", tasks, sometimes(2, 0.45)),
        )


@pytest.fixture(scope="session")
def written(sample_home: Path, sample_runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of both runs."""
    path = tmp_path_factory.mktemp("written") / "report.html"
    with at(sample_home):
        write_page([read_run(run) for run in sample_runs], path)
    return path
