from __future__ import annotations

import pytest
from causalvqa_world import ClipWorld
from shared import made_once


@pytest.fixture(scope="session")
def clip_world(tmp_path_factory: pytest.TempPathFactory) -> ClipWorld:
    return ClipWorld.read(made_once(tmp_path_factory, "causalvqa_build", ClipWorld.write))
