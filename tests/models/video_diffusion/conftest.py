from pathlib import Path

import numpy as np
import pytest
from small_clips import falling_ball, write_pair

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder runs a network, if a tiny one."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.model)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tiny checkpoints lie; each is written by the first test that asks for it."""
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """A pair of 24 frames at 8 frames per second (3 s), and shorter ones."""
    folder = tmp_path_factory.mktemp("clips")
    film = falling_ball(np.random.default_rng(0))
    return {
        "long": write_pair(folder, "long", film),
        "other": write_pair(folder, "other", falling_ball(np.random.default_rng(1))),
        "short": write_pair(folder, "short", film[:12]),
        "tiny": write_pair(folder, "tiny", film[:3]),
    }
