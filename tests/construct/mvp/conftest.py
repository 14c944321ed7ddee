from __future__ import annotations

from pathlib import Path

import pytest
from annotated_pairs import TruePair, true_pairs
from sample_runs import prepared_sample


@pytest.fixture(scope="session")
def pair_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's release and videos of this session; no test may change them."""
    return prepared_sample(tmp_path_factory).parent / "sample" / "mvp"


@pytest.fixture(scope="session")
def sample_pairs(pair_sources: Path) -> list[TruePair]:
    """Its minimal pairs, four a category."""
    return true_pairs(pair_sources / "snapshot")
