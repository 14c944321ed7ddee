"""A set of CaST-Bench's kind that was built: it prepares, lmms-eval runs it, and who looks at the clips solves it."""

from __future__ import annotations

import pytest
from cast_bench_player import cast_bench_player
from cast_bench_world import BuildWorld, planted_world
from host_run import HostRun, own_command, run_host
from judge_server import JudgeServer
from shared import made_once

pytestmark = pytest.mark.host

CLIP = "sav_000001"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    root = made_once(tmp_path_factory, "cast_bench_world", lambda root: planted_world(root / "world"))
    folder = tmp_path_factory.mktemp("built")
    world = BuildWorld.load(root / "world").only(CLIP, folder / "world")
    home, out = folder / "home", folder / "out"
    with JudgeServer(picture_script=cast_bench_player(world)) as server:
        config = world.config(server.url, folder / "config")
        built = own_command(home, "build", "cast_bench", "--config", config, "--out", out)
    assert built.returncode == 0 and f"prepare cast_bench --source {out / 'release'}" in built.stdout, built.stderr
    prepared = own_command(home, "prepare", "cast_bench", "--source", out / "release")
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    return run_host("--model", "sample_solver", "--tasks", "cast_bench", home=home, out=folder / "run")


def test_it_is_solved_from_its_pixels_with_the_evidence_that_was_laid(solved: HostRun) -> None:
    scores = solved.scores("cast_bench")
    assert (scores["accuracy"], scores["unscored_rate"], scores["submission_rows"]) == (100, 0, 2)
    assert scores["sample_data"] == 100 and scores["faithful"] == 100 and scores["im_viou"] > 60
    assert {sample["record"]["item_id"] for sample in solved.samples("cast_bench")} == {f"{CLIP}_1", f"{CLIP}_2"}
