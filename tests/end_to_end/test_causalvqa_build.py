"""From annotators' questions to scores by the commands that users run: `build`, `prepare`, and an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
from causalvqa_world import ClipWorld, write_annotations, write_build_config
from host_run import own_command, run_host
from judge_server import JudgeServer
from shared import made_once

pytestmark = pytest.mark.host


def test_a_set_that_was_built_is_prepared_run_and_solved(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = ClipWorld.read(made_once(tmp_path_factory, "causalvqa_build", ClipWorld.write))
    gone = [truth for truth in world.truths if world.faults.get(truth.qid) in ("guessed", "synonym")]
    some = [*world.good, *gone]
    write_annotations(tmp_path / "rows.csv", [truth.annotated for truth in some])
    home, out = tmp_path / "home", tmp_path / "out"
    with JudgeServer(picture_script=world.player(passing=5)) as server:
        config = write_build_config(tmp_path / "build.yaml", server.url, clips=str(world.takes))
        built = own_command(home, "build", "causalvqa", "--config", config, "--out", out)
    assert built.returncode == 0, built.stdout + built.stderr
    for shown in ("a distractor is a synonym of the answer", "right without the clip in both versions", "39% out"):
        assert shown in built.stdout
    prepared = own_command(home, "prepare", "causalvqa", "--source", out / "release")
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    run = run_host(
        "--model", "sample_solver", "--tasks", "causalvqa_debug_paired", home=home, out=tmp_path / "run"
    )  # fmt: skip
    scores = run.scores("causalvqa_debug_paired")
    assert scores["pairs_scored"] == len(world.good) == len(some) - 2
    assert scores["pair_accuracy"] == scores["single_accuracy"] == 100
    assert scores["unscored_rate"] == 0
