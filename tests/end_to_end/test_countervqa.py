"""CounterVQA on the sample: a solver that looks, a constant at its floor, two ranks, and every command on the runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host

pytestmark = pytest.mark.host

TASKS = ("countervqa", "countervqa_annotated")


def run_model(world: SampleWorld, out: Path, *model: str, ranks: int = 1) -> HostRun:
    return run_host("--model", *model, "--tasks", ",".join(TASKS), home=world.home, out=out, ranks=ranks)


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_model(sample_world, tmp_path_factory.mktemp("solved"), "sample_solver")


@pytest.fixture(scope="module")
def constant(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("constant")
    return run_model(sample_world, out, "constant_answer", "--model_args", "response=Yes.", ranks=2)


def command(world: SampleWorld, *words: str | Path, status: int = 0) -> str:
    finished = own_command(world.home, *words, env={"COLUMNS": "200"})
    assert finished.returncode == status, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


def test_the_solver_is_right_at_every_level_and_in_every_pair(solved: HostRun) -> None:
    for task in TASKS:
        scores = solved.scores(task)
        asked = {name: value for name, value in scores.items() if name.startswith("verdict_accuracy")}
        assert len(asked) == 13 and set(asked.values()) == {100.0}
        assert scores["pair_accuracy"] == scores["balanced_accuracy"] == scores["sample_data"] == 100
        assert scores["pairs_scored"] == 12 and scores["unscored_rate"] == scores["unparsed_rate"] == 0


def test_a_constant_scores_its_floor_on_two_ranks(constant: HostRun) -> None:
    for task in TASKS:
        scores = constant.scores(task)
        assert scores["verdict_accuracy"] == scores["always_yes"] == 60
        for cell in ("l1", "l2", "l3", "h2h", "h2o", "h2h_l1", "h2o_l3"):
            assert scores[f"verdict_accuracy_{cell}"] == scores[f"always_yes_{cell}"]
            assert scores[f"always_yes_{cell}"] + scores[f"always_no_{cell}"] == 100
        assert (scores["balanced_accuracy"], scores["pair_accuracy"], scores["yes_rate"]) == (50, 0, 100)


def test_the_annotated_prompt_holds_the_actions(constant: HostRun) -> None:
    plain, annotated = (constant.samples(task)[0]["input"] for task in TASKS)
    assert " hits the " not in plain.partition("Question:")[0] and "00:0" in annotated


def test_report_compare_and_rescore_know_it(
    solved: HostRun, constant: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    text = command(sample_world, "report", solved.out, constant.out, "--html", page)
    assert "countervqa_annotated" in text and "always yes" in text
    assert "Floors of a constant answer" in page.read_text(encoding="utf-8")
    assert "verdict accuracy" in command(sample_world, "compare", solved.out, constant.out, "--task", "countervqa")
    assert "differ" not in command(sample_world, "rescore", solved.out).splitlines()[-1]


def test_there_is_nothing_to_submit(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    assert "has no leaderboard" in command(sample_world, "submit", "countervqa", solved.out, "--out", out, status=1)
    assert not out.exists() and not list(solved.out.rglob("submissions"))


def test_the_log_says_what_each_question_was(solved: HostRun) -> None:
    records = [sample["record"] for sample in solved.samples("countervqa")]
    assert {json.dumps(record["stratum"]["level"]) for record in records} == {'"L1"', '"L2"', '"L3"'}
    assert {record["stratum"]["interaction"] for record in records} == {"H2H", "H2O"}
