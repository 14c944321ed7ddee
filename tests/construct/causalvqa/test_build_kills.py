"""`build causalvqa` that is killed, and two at once."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import pytest
from causalvqa_world import ClipWorld, ClipWorldPlayer, write_annotations, write_build_config
from killed_builds import check_killed_builds, check_two_builds_at_once

from lmms_eval_tasks.construct.causalvqa.command import build

MET = ("guessed", "no END at first", "synonym at first")
"""What goes wrong with the questions."""


@pytest.fixture
def few(clip_world: ClipWorld, tmp_path: Path) -> ClipWorld:
    """Four questions, one of which goes and one of which has more to be described than its clip."""
    good = next(truth for truth in clip_world.truths if truth.kind == "anticipation")
    truths = [truth for truth in clip_world.truths if clip_world.faults.get(truth.qid) in MET]
    write_annotations(tmp_path / "rows.csv", [truth.annotated for truth in (good, *truths)])
    return replace(clip_world, truths=[good, *truths])


def build_into(clip_world: ClipWorld, folder: Path, url: str, out: Path) -> None:
    config = write_build_config(folder / f"{out.name}.yaml", url, clips=str(clip_world.takes))
    build(config, out)


@pytest.fixture
def player(few: ClipWorld) -> ClipWorldPlayer:
    """Everybody, with no decoder left over: a child that collects one waits for threads that it does not have."""
    made = few.player(passing=10)
    gc.collect()
    return made


@pytest.mark.slow
def test_twenty_kills_change_nothing_and_cost_nothing(few: ClipWorld, player: ClipWorldPlayer, tmp_path: Path) -> None:
    check_killed_builds(lambda url, out: build_into(few, tmp_path, url, out), player, tmp_path)


@pytest.mark.slow
def test_two_builds_at_once_are_as_one(few: ClipWorld, player: ClipWorldPlayer, tmp_path: Path) -> None:
    check_two_builds_at_once(lambda url, out: build_into(few, tmp_path, url, out), player, tmp_path)
