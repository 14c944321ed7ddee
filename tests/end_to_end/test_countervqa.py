"""CounterVQA on the sample: a solver that looks, a constant at its floor, two ranks, and every command on the runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host
from judge_server import JudgeServer, Say

from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

TASKS = ("countervqa", "countervqa_annotated")
PROBE = "countervqa_probe"


def judge(prompt: str, before: int) -> Say:
    """Finds that the explanations of a no agree with the reference, and will not speak of the others."""
    if '"readability"' in prompt:
        return Say('{"kind": "other", "readability": 4}')
    return Say('{"agreement": 8}' if '"true_answer_and_reason": "No.' in prompt else "I would rather not.")


def judge_fully(prompt: str, before: int) -> Say:
    reply = judge(prompt, before)
    return reply if reply.text.startswith("{") else Say('{"agreement": 3}')


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer(judge) as server:
        yield server


def judge_options(server: JudgeServer) -> str:
    return f"model=m,url={server.url},first_delay=0,unreadable=1"


def run_judged(world: SampleWorld, out: Path, server: JudgeServer, tasks: str, *model: str) -> HostRun:
    env = {"LMMS_EVAL_TASKS_JUDGE": judge_options(server), "OPENAI_API_KEY": "any"}
    return run_host("--model", *model, "--tasks", tasks, home=world.home, out=out, env=env)


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, server: JudgeServer, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("solved")
    return run_judged(sample_world, out, server, ",".join((*TASKS, PROBE)), "sample_solver")


@pytest.fixture(scope="module")
def constant(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    model = ("--model", "constant_answer", "--model_args", "response=Yes.")
    out = tmp_path_factory.mktemp("constant")
    return run_host(*model, "--tasks", ",".join(TASKS), home=sample_world.home, out=out, ranks=2)


def command(world: SampleWorld, *words: str | Path, status: int = 0) -> str:
    finished = own_command(world.home, *words, env={"COLUMNS": "200", "OPENAI_API_KEY": "any"})
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
        assert scores["judged_accuracy"] is None


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


def test_the_probe_is_asked_beside_it(solved: HostRun) -> None:
    scores = solved.scores(PROBE)
    assert {value for name, value in scores.items() if name.startswith(("detection", "verdict_accuracy"))} == {100.0}


def test_explanations_are_judged_once_and_errors_analysed(
    solved: HostRun, server: JudgeServer, sample_world: SampleWorld, tmp_path: Path
) -> None:
    assert solved.score("countervqa", "judged_accuracy") == 100
    records = read_run(solved.out).records["countervqa"]
    assert {(record.expected, record.fields["judged"]) for record in records} == {("no", True), ("yes", None)}
    refused = [record.fields["judge"]["reason"] for record in records if record.expected == "yes"]
    assert len(refused) == 18 and all(reason.startswith("unreadable reply") for reason in refused)
    readable = {prompt for prompt in server.asked if judge(prompt, 0).text.startswith("{")}
    assert len(server.asked) == 30 and len(readable) == 12 and {server.asked[prompt] for prompt in readable} == {1}

    # The run is judged to its end: a reply that could be read is not asked for again.
    server.script = judge_fully
    answers = ("replay", "--model_args", f"predictions={solved.out}")
    judged = run_judged(sample_world, tmp_path / "judged", server, "countervqa", *answers)
    scores = judged.scores("countervqa")
    assert scores["judged_accuracy"] == scores["always_no"] == 40 and scores["verdict_accuracy"] == 100
    assert {server.asked[prompt] for prompt in readable} == {1}

    asked = len(server.bodies)
    for _ in range(2):
        errors = ("countervqa", "errors", judged.out, "--judge", judge_options(server))
        assert "readability of the reasoning: 4.00 of 5 (30 answers)" in command(sample_world, *errors)
        assert len(server.bodies) == asked + 30
    page = tmp_path / "page.html"
    assert "judged accuracy" in command(sample_world, "report", judged.out, "--html", page)
    assert "How answers were reached" in page.read_text(encoding="utf-8")
