"""What holds for every test: neither chance nor order nor the settings of who runs them decide anything.

Property tests draw the same examples in every `make test`, for a rare one must not fail a change that has nothing to do
with it. (From a package that is installed as editable, hypothesis draws constants too, as far as it is loaded by then.)
`HYPOTHESIS_PROFILE=explore` draws others each time, and ten times as many where a test does not say how many.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from expected import Expected
from hypothesis import HealthCheck, settings
from loguru import logger
from shared import made_once, shared_folder

# How long a draw or a test takes tells how busy the machine is.
TIMELESS = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("same", TIMELESS, derandomize=True, database=None)
settings.register_profile("explore", TIMELESS, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# All commands with their options take 50 ms to build, which tests would do for each call of one.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

JUDGES = "MODEL_VERSION API_TYPE OPENAI_API_KEY OPENAI_API_URL AZURE_API_KEY AZURE_ENDPOINT LLM_JUDGE_URL"
PROXIES = "HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy"


# Nothing that is imported or collected is garbage: looking for some takes a sixth of the time until the first test.
gc.disable()

LONG = ("host", "model", "browser", "slow")
"""Marks of tests that take long, the longest first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-expected", action="store_true", help="write the .expected files again; see support/expected.py"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first, so that no worker is left with one when the other has nothing more to do."""
    ranks: dict[Path, int] = {}
    for item in items:
        marks = [rank for rank, mark in enumerate(LONG) if item.get_closest_marker(mark)]
        ranks[item.path] = min([ranks.get(item.path, len(LONG)), *marks])
    items.sort(key=lambda item: ranks[item.path])


def pytest_collection_finish() -> None:
    """What is imported and collected stays: without this every search for garbage goes through millions of objects."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000)


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither this package's variables, nor those that would lead a judge elsewhere, nor the user's data home."""
    ours = [name for name in os.environ if name.startswith("LMMS_EVAL_TASKS_")]
    with pytest.MonkeyPatch.context() as patch:
        for name in (*ours, *JUDGES.split(), *PROXIES.split()):
            patch.delenv(name, raising=False)
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path_factory.mktemp("no_home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def folder_for_warm_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What they read of lmms-eval is read once; see tests/support/warm_host.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHARED_FOLDER", str(shared_folder(tmp_path_factory)))
        yield


@pytest.fixture(scope="session")
def own_tasks() -> None:
    """lmms-eval reads the files of its own tasks once, in place of 4 seconds for each manager of tasks."""
    from warm_host import read_own_tasks

    read_own_tasks()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home of the test's own, in which nothing is prepared."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with the small world, which tests read and leave as it is."""
    from submission_world import prepare_world

    def make(root: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
            prepare_world(root / "releases")

    return made_once(tmp_path_factory, "small_world", make) / "home"


@pytest.fixture
def world(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That home, named by the environment."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(prepared))
    return prepared


@pytest.fixture
def own_world(prepared: Path, home: Path) -> Path:
    """A copy of that home, which the test may change."""
    shutil.copytree(prepared, home, symlinks=True)
    return home


def _logged(level: str) -> Iterator[list[str]]:
    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]), level=level)
    yield messages
    logger.remove(sink)


@pytest.fixture
def log() -> Iterator[list[str]]:
    """The messages that loguru logs."""
    yield from _logged("DEBUG")


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """Those of them that warn."""
    yield from _logged("WARNING")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without the drawings of their figures, which take most of a page's time."""
    monkeypatch.setattr("lmms_eval_tasks.utils.reporting.drawing.page_figures", lambda figures: ["" for _ in figures])


@pytest.fixture
def hundred_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables as a terminal of a hundred columns shows them, also where the test catches what is printed."""
    monkeypatch.setattr("lmms_eval_tasks.utils.core.output.ENDLESS", 100)


@pytest.fixture
def expected(request: pytest.FixtureRequest, tmp_path: Path) -> Expected:
    """Compares a whole text with the one in the file beside the test's module; see tests/support/expected.py."""
    return Expected(request, tmp_path)
