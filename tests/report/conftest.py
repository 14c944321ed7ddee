from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_runs import TASKS, at, prepared_sample, sometimes, write_sample_run

from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.report.page import write_page


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample world, prepared in a data home."""
    return prepared_sample(tmp_path_factory)


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
