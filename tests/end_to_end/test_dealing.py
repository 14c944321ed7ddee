"""Ranks and clips through the real command: how many encodes lmms-eval's own adapter pays for, and what is logged."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow.parquet
import pytest
from host_run import HostRun, SampleWorld, kill_host, qwen_arguments, run_host, start_host
from qwen_on_cpu_ranks import ranks_asked

from lmms_eval_tasks.registry import registry

pytestmark = pytest.mark.host

TASKS = ("countervqa", "causalvqa_debug_paired", "causalvqa_debug_paired_blind", "causalvqa_debug_paired_shuffled")
BLIND = TASKS[2]
ITEMS, SKIPPED = 6, 1
RANKS = (1, 3)

Ask = Callable[[int], tuple[HostRun, dict[tuple[str, int], list[int]]]]


@pytest.fixture(scope="module")
def asked(tiny_qwen: Path, sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """A run of lmms-eval's adapter on some ranks, and which of them were asked what."""

    @cache
    def run(ranks: int) -> tuple[HostRun, dict[tuple[str, int], list[int]]]:
        out = tmp_path_factory.mktemp(f"ranks_{ranks}")
        env = {"LMMS_EVAL_TASKS_JUDGE": "none", "RECEIVED_FOLDER": str(out / "received")}
        done = run_host(
            *qwen_arguments(tiny_qwen, model="qwen_on_cpu_ranks"), "--tasks", ",".join(TASKS),
            "--limit", str(ITEMS), "--offset", str(SKIPPED), home=sample_world.home, out=out, ranks=ranks, env=env,
        )  # fmt: skip
        assert done.status == 0 and set(TASKS) <= done.results()["results"].keys(), done.output
        return done, ranks_asked(out / "received")

    return run


def clips_of(home: Path, name: str) -> list[str]:
    """The clip of each document of a task."""
    task = registry().find_task(name)
    assert task is not None
    path = home / task.benchmark.name / f"{task.split}.parquet"
    clips: list[str] = pyarrow.parquet.read_table(path, columns=["clip"])["clip"].to_pylist()
    return clips


@pytest.mark.parametrize("ranks", RANKS)
def test_each_clip_and_view_is_encoded_on_one_rank(ranks: int, asked: Ask, sample_world: SampleWorld) -> None:
    _, received = asked(ranks)
    documents = range(SKIPPED, SKIPPED + ITEMS)
    assert received.keys() == {(task, document) for task in TASKS for document in documents}
    assert all(len(its) == 1 for its in received.values()), "each question is asked once"
    assert {rank for (rank,) in received.values()} == set(range(ranks))
    encoding: dict[tuple[str, str], set[int]] = {}
    having: dict[str, set[int]] = {}
    for task in (task for task in TASKS if task != BLIND):
        clips = clips_of(sample_world.home, task)
        for document in documents:
            encoding.setdefault((task, clips[document]), set()).update(received[task, document])
            having.setdefault(clips[document], set()).update(received[task, document])
    assert sum(map(len, encoding.values())) == len(encoding), "1.0 encodes a clip and view"
    assert {len(its) for its in having.values()} == {1}, "all tasks and views about a clip meet on its rank"
    assert len(having) >= max(RANKS)


def test_scores_and_logs_are_those_of_one_rank(asked: Ask) -> None:
    (one, _), (several, _) = map(asked, RANKS)
    for task in TASKS:
        assert several.scores(task) == one.scores(task)
        assert several.samples_in_order(task) == one.samples(task), "the same lines"
    assert several.output.count("The questions of a clip stay on one rank") == 1
    assert "stay on one rank" not in one.output


def test_a_rank_all_of_whose_answers_the_host_cached_keeps_nobody_waiting(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    """Of the second run's two items the first run has cached that of the first rank."""
    for items in (1, 2):
        run = start_host(
            "--model", "sample_solver", "--tasks", TASKS[1], "--use_cache", str(tmp_path / "cache"),
            "--limit", str(items), home=sample_world.home, out=tmp_path / str(items), ranks=2,
        )  # fmt: skip
        until = time.monotonic() + 120
        try:
            while run.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            assert run.poll() == 0, "the run ends"
        finally:
            kill_host(run)
    done = HostRun(0, "", tmp_path / "2")
    assert done.score(TASKS[1], "pair_accuracy") == 100 and len(done.samples(TASKS[1])) == 2
