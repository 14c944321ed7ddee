"""A score is one number: its value, its interval's n and its items are the same wherever they are printed.

Over all tasks and groups of all benchmarks, all views, all scores and all parts by stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from graded_records import records_of

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.printed_numbers import CHECKS, Finished, every_name, finish, stratum_panels

pytestmark = pytest.mark.usefixtures("few_draws")
NAMES = [(benchmark, *pair) for benchmark in registry().benchmarks for pair in every_name(benchmark)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("numbers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        yield root


@cache
def finished_run(folder: Path, benchmark: str, name: str, view: str) -> Finished:
    records = {kind: records_of(benchmark, kind) for kind in registry().benchmarks[benchmark].kinds}
    return finish(folder / f"{name}-{view}", name, view, records)


@pytest.fixture(params=NAMES, ids=["-".join(filter(None, parts[1:])) for parts in NAMES])
def finished(request: pytest.FixtureRequest, folder: Path) -> Finished:
    return finished_run(folder, *request.param)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_number_is_the_same_everywhere(check: Callable[[Finished], None], finished: Finished) -> None:
    check(finished)


def test_there_are_numbers_to_compare(finished: Finished) -> None:
    scores = finished.host[finished.name]
    assert any(score is not None and finished.metrics[name].kind == "mean" for name, score in scores.items())
    assert stratum_panels(finished)
