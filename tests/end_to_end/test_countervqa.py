"""CounterVQA on the sample with a judge: what it finds is kept, asked for once, and analysed."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host
from judge_server import JudgeServer, Say

from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host


def judge(prompt: str, before: int) -> Say:
    """Finds that the explanations of a no agree with the reference, and will not speak of the others."""
    if '"readability"' in prompt:
        return Say('{"kind": "other", "readability": 4}')
    return Say('{"agreement": 8}' if '"true_answer_and_reason": "No.' in prompt else "I would rather not.")


def judge_fully(prompt: str, before: int) -> Say:
    reply = judge(prompt, before)
    return reply if reply.text.startswith("{") else Say('{"agreement": 3}')


def test_explanations_are_judged_once_and_errors_analysed(sample_world: SampleWorld, tmp_path: Path) -> None:
    def run(out: Path, *model: str) -> HostRun:
        env = {"LMMS_EVAL_TASKS_JUDGE": options, "OPENAI_API_KEY": "any"}
        return run_host("--model", *model, "--tasks", "countervqa", home=sample_world.home, out=out, env=env)

    def command(*words: str | Path) -> str:
        done = own_command(sample_world.home, *words, env={"COLUMNS": "200", "OPENAI_API_KEY": "any"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with JudgeServer(judge) as server:
        options = f"model=m,url={server.url},first_delay=0,unreadable=1"
        solved = run(tmp_path / "solved", "sample_solver")
        assert solved.score("countervqa", "judged_accuracy") == 100
        records = read_run(solved.out).records["countervqa"]
        assert {(record.expected, record.fields["judged"]) for record in records} == {("no", True), ("yes", None)}
        refused = [record.fields["judge"]["reason"] for record in records if record.expected == "yes"]
        assert len(refused) == 18 and all(reason.startswith("unreadable reply") for reason in refused)
        readable = {prompt for prompt in server.asked if judge(prompt, 0).text.startswith("{")}
        assert len(server.asked) == 30 and len(readable) == 12

        # The run is judged to its end: a reply that could be read is not asked for again.
        server.script = judge_fully
        judged = run(tmp_path / "judged", "replay", "--model_args", f"predictions={solved.out}")
        scores = judged.scores("countervqa")
        assert scores["judged_accuracy"] == scores["always_no"] == 40 and scores["verdict_accuracy"] == 100
        assert {server.asked[prompt] for prompt in readable} == {1}

        asked = len(server.bodies)
        for _ in range(2):
            errors = command("countervqa", "errors", judged.out, "--judge", options)
            assert "readability of the reasoning: 4.00 of 5 (30 answers)" in errors
            assert len(server.bodies) == asked + 30
    page = tmp_path / "page.html"
    assert "judged accuracy" in command("report", judged.out, "--html", page)
    assert "How answers were reached" in page.read_text(encoding="utf-8")
