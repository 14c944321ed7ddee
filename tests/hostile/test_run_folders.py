"""Run folders spoilt value by value: every command that reads them refuses in words, or takes what is there.

A sample of some 17,000 mutations is made, the same each time; `HYPOTHESIS_PROFILE=explore` makes all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import commands
import pytest
from mutations import mutate
from spoilt_runs import TASKS, run_mutations, write_whole_run
from submission_world import prepare_world

from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring import bootstrap as estimates

pytestmark = pytest.mark.slow
ONE_IN = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 400


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every benchmark prepared; intervals from few draws, whose width nobody looks at."""
    root = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        patch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
        for name in ("intervals", "macro_interval"):
            patch.setattr(estimates, name, partial(getattr(estimates, name), draws=50))
        prepare_world(root / "releases")
        yield


def call(*words: object) -> None:
    """Run a command, whose failure has to be one in words."""
    done = commands.call(*words)
    assert done.status in (0, 1) and (done.status == 0 or done.err.strip())


def read_all(run: Path, task: str, other: Path) -> None:
    """Everything that reads a run's folder, but for `rescore`, which loads lmms-eval."""
    folder = other.parent
    call("report", run, "--html", folder / "page.html")
    call("report", run, "--by", "subset,category", "--card")
    call("compare", run, other)
    benchmark = registry().tasks[task].benchmark.name
    call("submit", benchmark, run, "--out", folder / "file", "--allow-incomplete", "--allow-unofficial")
    if task == "yocausal":
        call("yocausal", "rank", run)
    try:
        read_responses(run)
    except (InputError, OSError) as error:
        assert str(error)


def spoil(tmp_path: Path, task: str, one_in: int, read: Callable[[Path, str, Path], None]) -> int:
    """Read a run after each mutation of a sample of one in so many; returns how many there were."""
    run = write_whole_run(tmp_path / "run", task)
    assert read_run(run).records[task]
    good, number = tmp_path / "good" / "run", 0
    shutil.copytree(run, good)
    for mutation in run_mutations(good):
        if zlib.crc32(json.dumps([task, mutation]).encode()) % one_in:
            continue
        number += 1
        shutil.rmtree(run)
        shutil.copytree(good, run)
        mutate(tmp_path, mutation)
        try:
            read(run, task, good)
        except Exception as error:
            raise AssertionError(f"after {str(mutation)[:300]}") from error
    return number


@pytest.mark.parametrize("task", TASKS)
def test_what_is_spoilt_is_said_in_words(task: str, tmp_path: Path) -> None:
    assert spoil(tmp_path, task, ONE_IN, read_all) >= 2


@pytest.mark.host
def test_what_is_spoilt_is_not_scored_again(tmp_path: Path) -> None:
    def score(run: Path, task: str, other: Path) -> None:
        try:
            rescore(run, other.parent / "scored")
        except InputError as error:
            assert str(error)

    assert spoil(tmp_path, "cast_bench", 2 * ONE_IN, score) >= 1
