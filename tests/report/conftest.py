from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pictures import write_report, write_runs
from sample_runs import at, prepared_sample
from shared import made_once


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample world, prepared in a data home."""
    return prepared_sample(tmp_path_factory)


@pytest.fixture
def in_sample_home(sample_home: Path) -> Iterator[None]:
    """The sample world is what is prepared."""
    with at(sample_home):
        yield


@pytest.fixture(scope="session")
def sample_runs(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of every task on the sample, one better than the other, which no test may change."""
    with at(sample_home):
        root = made_once(tmp_path_factory, "sample_runs", write_runs)
    return root / "careful-7b", root / "hasty-2b"


@pytest.fixture(scope="session")
def written(sample_home: Path, sample_runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of both runs."""
    with at(sample_home):
        page = made_once(tmp_path_factory, "page_of_both", lambda root: write_report(sample_runs, root / "report.html"))
    return page / "report.html"
