"""IntPhys 2 on the sample, through the real command: scores, views, the held-out file, and what reads a run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host

pytestmark = pytest.mark.host

TASKS = "intphys2_main,intphys2_debug,intphys2_heldout"
FILE = "submissions/intphys2_heldout.jsonl"


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("solved")
    return run_host("--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=out)


def test_the_solver_is_right_everywhere(solved: HostRun, sample_world: SampleWorld) -> None:
    for task in ("intphys2_main", "intphys2_debug"):
        for score in ("single_accuracy", "pair_accuracy", "scene_accuracy", "single_accuracy_official"):
            assert solved.score(task, score) == 100, (task, score)
        assert solved.score(task, "says_possible") == 50
    assert solved.score("intphys2_heldout", "single_accuracy") is None
    with (sample_world.folder / "intphys2" / "heldout_truth.csv").open(newline="", encoding="utf-8") as file:
        truth = {row["filename"]: int(row["type"].endswith("_Possible")) for row in csv.DictReader(file)}
    assert {row["row_id"]: row["model_answer"] for row in solved.submission(FILE)} == truth


def test_two_ranks_score_as_one(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    two = run_host("--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=tmp_path, ranks=2)
    for task in TASKS.split(","):
        assert two.scores(task) == solved.scores(task)
    assert two.submission(FILE) == solved.submission(FILE)


def test_a_still_frame_is_not_enough(sample_world: SampleWorld, tmp_path: Path) -> None:
    """Nor is the clip with its frames in another order: every answer is then that it cannot be."""
    views = {view: f"intphys2_main_{view}" for view in ("blind", "single_frame", "shuffled")}
    run = run_host(
        "--model", "sample_solver", "--tasks", ",".join(views.values()), home=sample_world.home, out=tmp_path
    )
    for view, task in views.items():
        assert run.score(task, "pair_accuracy") == 0, view
        assert run.score(task, "unparsed_rate") == (0 if view == "shuffled" else 100), view


def test_the_commands_that_read_a_run(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    random = run_host("--model", "random_answer", "--tasks", TASKS, home=sample_world.home, out=tmp_path / "random")
    rewritten, page = tmp_path / "again.jsonl", tmp_path / "page.html"
    for command in (
        ("report", solved.out, random.out, "--html", page),
        ("compare", random.out, solved.out),
        ("rescore", random.out),
        ("submit", "intphys2", random.out, "--out", rewritten, "--allow-unofficial"),
        ("bias", "intphys2"),
    ):
        done = own_command(sample_world.home, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    assert page.stat().st_size > 0
    assert rewritten.read_bytes() == random.submission_file(FILE).read_bytes()
