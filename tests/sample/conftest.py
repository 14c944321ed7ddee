from __future__ import annotations

from pathlib import Path

import pytest
from sample_runs import prepared_sample


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home in which a small sample is prepared."""
    return prepared_sample(tmp_path_factory)


@pytest.fixture(scope="session")
def sample(sample_home: Path) -> Path:
    """That sample as it was written."""
    return sample_home.parent / "sample"
