from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_runs import at, prepared_sample


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample world, prepared in a data home."""
    return prepared_sample(tmp_path_factory)


@pytest.fixture
def sample(sample_home: Path) -> Iterator[None]:
    """A test that reads the sample world."""
    with at(sample_home):
        yield
