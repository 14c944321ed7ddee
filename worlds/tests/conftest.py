"""What tests of Worlds share. They use what any package's tests may: `lmms_eval_tasks.api` and the commands."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from expected import Expected
from small_worlds import Look, Looked, look_at

from lmms_eval_tasks.api import InputError
from lmms_eval_worlds.benchmark import STANDARD_SCENES
from lmms_eval_worlds.card import FAMILIES
from lmms_eval_worlds.physics import filming
from lmms_eval_worlds.physics.processes import Workers
from lmms_eval_worlds.scenes.scene import Facts, Scene, Violation

if TYPE_CHECKING:
    from lmms_eval_worlds.drafts import SceneDraft


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-expected", action="store_true", help="write the .expected files again")


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither the variables of lmms-eval-tasks nor the user's data home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("LMMS_EVAL_TASKS_")]:
            patch.delenv(name)
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path_factory.mktemp("no_home")))
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home of the test's own, in which nothing is prepared."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def expected(request: pytest.FixtureRequest, tmp_path: Path) -> Expected:
    """Compares a whole text with the one in the file beside the test's module; see support/expected.py."""
    return Expected(request, tmp_path)


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
    from lmms_eval_worlds.drafts import read_drafts

    return read_drafts(STANDARD_SCENES)


@pytest.fixture(scope="session")
def standard_facts(drafts: list[SceneDraft]) -> list[Facts]:
    """What is known of the first scene of each family; it raises where something else happens than in the draft."""
    from lmms_eval_worlds.drafts import all_facts

    return all_facts([next(one for one in drafts if one.scene.family == family) for family in FAMILIES], processes=1)
