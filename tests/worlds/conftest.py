"""What tests of scenes share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.worlds.physics import filming
from lmms_eval_tasks.worlds.physics.processes import Renderers, open_renderers


@pytest.fixture(scope="session")
def rendering_process() -> Iterator[Renderers]:
    """A process that renders; tests that need one are skipped where there is none."""
    try:
        with open_renderers(1) as opened:
            yield opened
    except InputError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def one_renderer(rendering_process: Renderers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clips are rendered by that process: each further one would import MuJoCo again."""
    monkeypatch.setattr(filming, "open_renderers", lambda processes: nullcontext(rendering_process))
