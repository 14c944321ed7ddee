"""Requests that fail and budgets that are spent: no answer is wrong for it, and the same command asks again."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host
from judge_server import nobody
from kept_answers import kept_lines
from model_server import PROMPT_TOKENS, ModelServer

from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

TASK = "mvp_mini_intuitive_physics"
ITEMS = 12
ASKED = 5


def test_a_run_of_which_nothing_was_answered_ends_with_status_1(sample_world: SampleWorld, tmp_path: Path) -> None:
    with nobody() as address:
        arguments = f"model_version=stub,base_url={address},api_key=none,max_frames_num=2,max_retries=1"
        run = run_host(
            "--model", "openai", "--model_args", arguments, "--tasks", TASK, "--limit", "4",
            home=sample_world.home, out=tmp_path / "out",
        )  # fmt: skip
    assert run.status == 1
    assert (
        "Nothing was answered, so no result was saved: 4 items have no answer: failed: Connection error. The same"
        in run.output
    )
    assert not [path for path in run.out.rglob("*.jsonl") if path.stat().st_size]
    assert not list(run.out.rglob("*_results.json"))


def test_what_a_spent_budget_left_out_is_unscored_and_asked_by_the_same_command(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    with ModelServer(lambda number: ("A", 1)) as server:

        def run(*options: str) -> HostRun:
            asked = [*server.arguments(), "--tasks", TASK, *options]
            return run_host(*asked, home=sample_world.home, out=tmp_path / "out")

        spent = run("--max_tokens", str(ASKED * (PROMPT_TOKENS + 1)))
        reasons = [sample["record"]["unscored_reason"] for sample in spent.samples(TASK)]
        assert reasons.count("budget spent") == ITEMS - ASKED and reasons.count(None) == ASKED == len(server.bodies)
        assert spent.score(TASK, "unparsed_rate") == 0
        assert len(kept_lines(spent.out / "answers")) == ASKED
        assert "was not written: 7 of 12 items have no answer (budget spent)" in spent.output
        assert not list((spent.out / "submissions").glob("*"))
        assert read_run(spent.out).card["run"]["budget of tokens"] == "505, spent"
        shown = own_command(sample_world.home, "report", spent.out)
        assert "NO ANSWER to 7 of 12 items in openai served (budget spent)" in " ".join(shown.stdout.split())
        refused = own_command(sample_world.home, "submit", "mvp", spent.out, "--part", "intuitive_physics",
                              "--allow-unofficial", "--out", tmp_path / "file.jsonl")  # fmt: skip
        assert refused.returncode == 1 and "Expected an answer to each, but there is none to" in refused.stderr
        run()
        assert len(server.bodies) == ITEMS
        whole = read_run(tmp_path / "out")
        assert not any(record.unscored_reason for record in whole.records[TASK])
        assert whole.card["run"]["budget of tokens"] == "none"


def test_reasoning_that_was_cut_off_is_no_answer_whoever_grades_it(sample_world: SampleWorld, tmp_path: Path) -> None:
    weighed = "The ball goes behind it, so A. Then it comes back, which fits B. Now A again, and I need"

    def outcomes(out: Path) -> dict[str, tuple[str, str]]:
        return {one.item_id: (one.outcome.value, one.detail) for one in read_run(out).records[TASK]}

    with ModelServer(lambda number: ("A", 1) if number % 4 else (weighed, 1024)) as server:
        for name in ("first", "again"):
            where = tmp_path / name
            run_host(*server.arguments(), "--tasks", TASK, home=sample_world.home, out=where,
                     env={"LMMS_EVAL_TASKS_ANSWERS": str(tmp_path / "answers")})  # fmt: skip
            assert len(server.bodies) == ITEMS
    first = outcomes(tmp_path / "first")
    assert list(first.values()).count(("unparsed", "cut off")) == ITEMS // 4
    assert {detail for outcome, detail in first.values() if outcome != "unparsed"} == {""}
    shown = own_command(sample_world.home, "report", tmp_path / "first").stdout
    assert "25% cut off at 1,024 tokens: of 12 answers of openai served, 3 used" in " ".join(shown.split())
    assert "--gen_kwargs max_new_tokens=4096" in shown
    done = own_command(sample_world.home, "rescore", tmp_path / "first", "--out", tmp_path / "rescored")
    assert done.returncode == 0, done.stderr
    run_host("--model", "replay", "--model_args", f"predictions={tmp_path / 'first'}", "--tasks", TASK,
             home=sample_world.home, out=tmp_path / "replayed")  # fmt: skip
    assert all(outcomes(tmp_path / name) == first for name in ("again", "rescored", "replayed"))
