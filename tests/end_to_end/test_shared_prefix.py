"""`shared_prefix` through the real command: what it encodes, what it answers, and what a broken clip or rank costs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet
import pytest
from host_run import HostRun, SampleWorld, kill_host, own_command, run_host, start_host
from kept_answers import kept_answers
from tiny_vlms import write_tiny_family

from lmms_eval_tasks.host.tasks.task_view import FOLDER
from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

SIZES = "max_num_frames=4,min_pixels=3136,max_pixels=25088"
TASKS = ("countervqa", "causalvqa_debug_paired", "causalvqa_debug_paired_shuffled")
ITEMS = 8
"""Items of each task: each clip has two questions of the same benchmark, one after the other."""
LIMIT = 120
"""Seconds in which a run has to end."""

Ask = Callable[[int], HostRun]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_family("qwen2_5_vl", tmp_path_factory.mktemp("tiny") / "qwen")


def arguments(checkpoint: Path, tasks: Sequence[str] = TASKS, **chosen: Any) -> list[str]:
    options = "".join(f",{name}={value}" for name, value in chosen.items())
    return [
        "--model", "shared_prefix", "--model_args", f"pretrained={checkpoint},{SIZES}{options}", "--device", "cpu",
        "--gen_kwargs", "max_new_tokens=6", "--tasks", ",".join(tasks), "--limit", str(ITEMS),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def asked(checkpoint: Path, sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Runs in fast mode on some ranks."""

    @cache
    def run(ranks: int) -> HostRun:
        out = tmp_path_factory.mktemp(f"ranks_{ranks}")
        return run_host(
            *arguments(checkpoint, mode="fast", dtype="float32"), home=sample_world.home, out=out, ranks=ranks
        )

    return run


def shown(home: Path) -> set[tuple[str, str]]:
    """The clips that the tasks show, each with its view."""
    clips: set[tuple[str, str]] = set()
    for benchmark, split, views in (("countervqa", "test", ("",)), ("causalvqa", "debug", ("", "shuffled"))):
        table = pyarrow.parquet.read_table(home / benchmark / f"{split}.parquet", columns=["clip"])
        clips |= {(f"{benchmark}/{clip}", view) for clip in table["clip"].to_pylist()[:ITEMS] for view in views}
    return clips


@pytest.mark.parametrize("ranks", [1, 2])
def test_each_clip_and_view_is_encoded_once(ranks: int, asked: Ask, sample_world: SampleWorld) -> None:
    card = read_run(asked(ranks).out).card
    assert card["throughput"]["times encoded"] == len(shown(sample_world.home)) == card["throughput"]["clips"]
    assert card["throughput"]["questions"] == ITEMS * len(TASKS)
    assert card["throughput"]["share of prompt tokens reused in %"] > 25
    assert card["throughput"]["ranks in fast mode"] == ranks
    assert card["throughput"]["questions an hour"] > card["throughput"]["clips an hour"] > 0
    stages = ("decoding", "waiting for clips", "encoding", "prefilling", "generating")
    assert {f"seconds {stage}" for stage in stages} <= card["throughput"].keys()
    assert card["sharing"] == {
        "mode": "fast", "why": "as asked", "positions": "library", "attention": "sdpa", "questions at once": "up to 32",
    }  # fmt: skip


def test_answers_scores_and_logs_are_those_of_one_rank(asked: Ask) -> None:
    for task in TASKS:
        assert asked(2).scores(task) == asked(1).scores(task)
        assert asked(2).samples_in_order(task) == asked(1).samples(task)


def test_answers_are_those_of_the_adapter_of_lmms_eval(
    checkpoint: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    """In bfloat16, as the adapter loads weights, and in safe mode, whose logits are equal to the bit.

    The shuffled clips are equal but for what coding has lost of the adapter's.
    """
    home, whole = tmp_path / "home", TASKS[:2]
    home.mkdir()
    for benchmark in ("causalvqa", "countervqa"):
        (home / benchmark).symlink_to(sample_world.home / benchmark)
    ours = run_host(*arguments(checkpoint, mode="safe"), home=home, out=tmp_path / "ours")
    assert not list((home / FOLDER).rglob("*")), "no clip is coded, and nothing else is made"
    theirs = arguments(checkpoint, device_map="cpu")
    theirs[1] = "qwen2_5_vl"
    host = run_host(*theirs, home=home, out=tmp_path / "host")
    answers = [str(sample["filtered_resps"]) for task in whole for sample in host.samples(task)]
    assert [str(sample["filtered_resps"]) for task in whole for sample in ours.samples(task)] == answers
    assert len(set(answers)) > len(answers) // 2
    made = list((home / FOLDER).glob("??/[!.]*"))
    assert len(made) == len({clip for clip, view in shown(home) if view})


def test_a_clip_that_cannot_be_decoded_is_unscored_and_named(
    checkpoint: Path, sample_world: SampleWorld, asked: Ask, tmp_path: Path
) -> None:
    task, home = TASKS[1], tmp_path / "home"
    shutil.copytree(sample_world.home / "causalvqa", home / "causalvqa", symlinks=True)
    rows = pyarrow.parquet.read_table(home / "causalvqa" / "debug.parquet").to_pylist()
    clip = home / "causalvqa" / "videos" / rows[2]["clip"]
    content = clip.read_bytes()
    clip.unlink()
    clip.write_bytes(content[:2000])
    broken = {row["item_id"] for row in rows[:ITEMS] if row["clip"] == rows[2]["clip"]}
    options = arguments(checkpoint, [task], mode="fast", dtype="float32")
    run = run_host(*options, home=home, out=tmp_path / "out", ranks=2)
    whole = {sample["record"]["item_id"]: sample for sample in asked(1).samples(task)}
    for sample in run.samples(task):
        record = sample["record"]
        if record["item_id"] in broken:
            assert (record["outcome"], record["unscored_reason"]) == ("unscored", "unreadable clip")
            assert record["detail"]
        else:
            assert sample == whole[record["item_id"]]
    assert len(broken) >= 1 and "questions have no answer and are unscored" in run.output
    rescored = own_command(home, "rescore", tmp_path / "out", "--out", tmp_path / "again")
    assert rescored.returncode == 0, rescored.stdout + rescored.stderr
    again = [item.record for item in read_run(tmp_path / "again").items_of(task)]
    assert {record.item_id for record in again if record.unscored_reason} == broken


def test_a_rank_without_work_keeps_nobody_waiting(
    checkpoint: Path, sample_world: SampleWorld, asked: Ask, tmp_path: Path
) -> None:
    task = TASKS[1]
    command = arguments(checkpoint, [task], mode="fast", dtype="float32")
    command[-1] = "1"
    run = start_host(*command, home=sample_world.home, out=tmp_path, ranks=2)
    try:
        until = time.monotonic() + LIMIT
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert run.poll() == 0, "the run ends"
    finally:
        kill_host(run)
    assert HostRun(0, "", tmp_path).samples(task) == asked(1).samples(task)[:1]


def test_a_rank_that_is_killed_ends_the_run_and_a_second_run_goes_on(
    checkpoint: Path, sample_world: SampleWorld, asked: Ask, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"home": sample_world.home, "out": tmp_path / "out", "ranks": 2}
    command = arguments(checkpoint, mode="fast", dtype="float32")
    run = start_host(*command, **options)
    try:
        until = time.monotonic() + LIMIT
        while run.poll() is None and time.monotonic() < until and not kept_answers(tmp_path / "out" / "answers"):
            time.sleep(0.02)
        ranks = sorted(psutil.Process(run.pid).children(), key=lambda child: child.pid)
        assert len(ranks) >= 2
        ranks[-1].kill()
        until = time.monotonic() + LIMIT
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert run.poll() not in (None, 0), "the run ends, and says that it failed"
    finally:
        kill_host(run)
    before = kept_answers(tmp_path / "out" / "answers")
    assert before
    resumed = run_host(*command, **options)
    assert f"{len(before)} answer" in resumed.output
    for task in TASKS:
        assert resumed.scores(task) == asked(1).scores(task)
        assert resumed.samples_in_order(task) == asked(1).samples(task)
