"""Tiny checkpoints of each family, written once, and clips."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from clip_questions import write_clips
from tiny_vlms import write_tiny_family

from lmms_eval_tasks.models.shared_prefix import SharedPrefix

Load = Callable[..., SharedPrefix]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's checkpoint."""
    folder = tmp_path_factory.mktemp("families")
    return cache(lambda family: write_tiny_family(family, folder / family))


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three clips."""
    return write_clips(tmp_path_factory.mktemp("clips"))


@pytest.fixture(scope="session")
def load(checkpoint: Callable[[str], Path]) -> Load:
    """Loads a family's tiny model in float32 on the CPU."""

    def load(family: str, **arguments: Any) -> SharedPrefix:
        sizes = {"max_num_frames": 8, "min_pixels": 3136, "max_pixels": 25088}
        return SharedPrefix(str(checkpoint(family)), dtype="float32", device="cpu", **{**sizes, **arguments})

    return load
