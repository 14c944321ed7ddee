"""A build of CaST-Bench's kind that is killed again and again, and two of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from cast_bench_player import CastBenchPlayer
from cast_bench_world import BuildWorld, planted_world
from judge_server import Action, Say
from killed_builds import check_killed_builds, check_two_builds_at_once
from shared import made_once

from lmms_eval_tasks.cast_bench.build import build

CLIP = "sav_000003"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> BuildWorld:
    root = made_once(tmp_path_factory, "cast_bench_world", lambda root: planted_world(root / "world"))
    return BuildWorld.load(root / "world").only(CLIP, tmp_path_factory.mktemp("clip"))


def test_killed_twenty_times_it_gives_the_same_bytes_and_asks_nothing_twice(world: BuildWorld, tmp_path: Path) -> None:
    def run(url: str, out: Path) -> None:
        build(world.config(url, tmp_path / "config", tries=3), out)

    check_killed_builds(run, CastBenchPlayer(world), tmp_path)


def test_two_builds_at_once_share_their_requests(world: BuildWorld, tmp_path: Path) -> None:
    player = CastBenchPlayer(world)

    def run(url: str, out: Path) -> None:
        build(world.config(url, tmp_path / "config"), out)

    def slow(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        action = player(prompt, pictures, before)
        assert isinstance(action, Say)
        return Say(action.text, delay=0.02)

    check_two_builds_at_once(run, slow, tmp_path)
