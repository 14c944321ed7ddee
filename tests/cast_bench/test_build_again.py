"""A build of CaST-Bench's kind that is killed again and again, two of them at once, and one again with edits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cast_bench_player import CastBenchPlayer, role_of
from cast_bench_world import BuildWorld, planted_world
from judge_server import Action, JudgeServer, Say
from killed_builds import check_killed_builds, check_two_builds_at_once
from role_player import material_of
from shared import made_once

from lmms_eval_tasks.annotate.forms import EditedEntry
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


def test_what_people_edited_is_what_questions_are_written_from(world: BuildWorld, tmp_path: Path) -> None:
    entry = EditedEntry(name="red_ball", start="00:01", end="00:02", text="It hums a tune.")
    line = {"item_id": f"{CLIP}_1", "annotator": "a001", "entries": [entry.model_dump()]}
    (tmp_path / "edited.jsonl").write_text(json.dumps(line) + "\n")
    with JudgeServer(picture_script=CastBenchPlayer(world)) as server:
        config = world.config(server.url, tmp_path, descriptions="edited.jsonl")
        built = build(config, tmp_path / "out")
    (asked,) = [prompt for prompt in server.asked if role_of(prompt) == "questions"]
    (edited,) = [one for one in material_of(asked)["instances"] if one["description"] == "A red ball."]
    assert edited["does"] == ["[00:01]-[00:02] It hums a tune."]
    described = {material_of(prompt)["description"] for prompt in server.asked if role_of(prompt) == "dynamic"}
    assert len(described) == len(world.names[CLIP]) - 1 and "A red ball." not in described
    assert built.folder is not None and len((built.folder / "castbench_hf.jsonl").read_text().splitlines()) == 1
