"""What tests of scenes share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from small_worlds import Look, Looked, look_at

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.worlds.benchmark import STANDARD_SCENES
from lmms_eval_tasks.worlds.card import FAMILIES
from lmms_eval_tasks.worlds.physics import filming
from lmms_eval_tasks.worlds.physics.processes import Workers
from lmms_eval_tasks.worlds.scenes.scene import Facts, Scene, Violation

if TYPE_CHECKING:
    from lmms_eval_tasks.worlds.drafts import SceneDraft


@pytest.fixture(scope="session")
def rendering_process() -> Iterator[Workers]:
    """A process that renders; tests that need one are skipped where there is none."""
    try:
        with Workers(1, renders=True) as opened:
            yield opened
    except InputError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def one_renderer(rendering_process: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clips are rendered by that process: each further one would import MuJoCo again."""
    monkeypatch.setattr(filming, "Workers", lambda processes, renders: nullcontext(rendering_process))


@pytest.fixture
def look(rendering_process: Workers) -> Look:
    """Asks that process for what is seen of scenes."""

    def ask(asked: Sequence[tuple[Scene, Violation | None]]) -> list[Looked]:
        return list(rendering_process.map(look_at, asked))

    return ask


@pytest.fixture(scope="session")
def drafts() -> list[SceneDraft]:
    """The standard set."""
    from lmms_eval_tasks.worlds.drafts import read_drafts

    return read_drafts(STANDARD_SCENES)


@pytest.fixture(scope="session")
def standard_facts(drafts: list[SceneDraft]) -> list[Facts]:
    """What is known of the first scene of each family; it raises where something else happens than in the draft."""
    from lmms_eval_tasks.worlds.drafts import all_facts

    return all_facts([next(one for one in drafts if one.scene.family == family) for family in FAMILIES], processes=1)
