"""Requests to a server: what they cost beside what it counted, a spent budget, and a server that is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from host_run import SampleWorld, own_command, run_host
from judge_server import nobody
from kept_answers import kept_lines
from model_server import PROMPT_TOKENS, model_server

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import COST
from lmms_eval_tasks.runs.run_files import sample_log
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

pytestmark = pytest.mark.host

TASK = "mvp_mini_intuitive_physics"
ITEMS, FIRST = 12, 5
OUTPUT = [3 * number + 1 for number in range(ITEMS - 1)] + [1024]
"""The tokens of each reply, in their order; the last one was cut off."""
PRICE = "in=2.5,out=10"


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


def table_of(text: str, title: str) -> dict[str, Any]:
    """The row of the table whose title begins so, by its headings."""
    (table,) = [one for one in json.loads(text)["tables"] if one["title"].startswith(title)]
    return dict(zip(table["columns"], table["rows"][0], strict=True))


def test_costs_equal_what_the_server_counted_and_a_run_whose_budget_was_spent_goes_on(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    home, out = sample_world.home, tmp_path / "out"
    with model_server(lambda number: ("A", OUTPUT[number])) as server:

        def cost(*options: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
            run = run_host(*server.arguments(), "--tasks", TASK, *options, home=home, out=out)
            assert run.status == 0 and ("(budget spent)" in run.output) == bool(options), run.output
            latest = read_run(out)
            lines = map(json.loads, sample_log(latest.path, TASK).read_text("utf-8").splitlines())
            counted = sum(line["token_counts"][0].get("output_tokens", 0) for line in lines)
            assert counted == sum(OUTPUT[: len(server.bodies)])
            asked = ["--price", PRICE, "--format", "json"]
            report = own_command(home, "report", out, *asked, "--html", tmp_path / "page.html").stdout
            board = own_command(home, "board", out, *asked, "--out", tmp_path / "board.html").stdout
            tables = table_of(report, f"{TASK}: what the answers cost"), table_of(board, TASK)
            return dict(latest.card[f"{COST}{TASK}"]), *tables

        budget = FIRST * PROMPT_TOKENS + sum(OUTPUT[:FIRST])
        card, shown, _ = cost("--max_tokens", str(budget))
        assert len(server.bodies) == len(kept_lines(out / "answers")) == FIRST
        expected = {"answers": ITEMS, "answers kept": 0, "answers failed": ITEMS - FIRST, "answers cut off": 0}
        assert expected.items() <= card.items()
        assert (card["answers with output tokens"], card["output tokens"]) == (FIRST, sum(OUTPUT[:FIRST]))
        assert shown["failed"] == ITEMS - FIRST and shown["tokens out"]["value"] == sum(OUTPUT[:FIRST]) / FIRST
        spent = read_run(out)
        reasons = [record.unscored_reason for record in spent.records[TASK]]
        assert reasons.count(UnscoredReason.BUDGET) == ITEMS - FIRST and reasons.count(None) == FIRST
        assert spent.card["run"]["budget of tokens"] == f"{budget}, spent"
        assert not list((out / "submissions").glob("*"))

        card, shown, ranked = cost()
        assert len(server.bodies) == ITEMS
        expected = {"answers": ITEMS, "answers kept": FIRST, "answers failed": 0, "answers cut off": 1}
        assert expected.items() <= card.items()
        assert (card["input tokens"], card["input tokens kept"]) == (ITEMS * PROMPT_TOKENS, FIRST * PROMPT_TOKENS)
        assert (card["output tokens"], card["output tokens kept"]) == (sum(OUTPUT), sum(OUTPUT[:FIRST]))
        # Only what was asked for in this run is paid in it.
        paid = (2.5 * (ITEMS - FIRST) * PROMPT_TOKENS + 10 * sum(OUTPUT[FIRST:])) / 1_000_000
        assert shown["money"]["value"] == pytest.approx(paid) and shown["kept"] == FIRST and shown["cut off"] == 1
        assert shown["tokens in"]["value"] == PROMPT_TOKENS and shown["tokens out"]["value"] == sum(OUTPUT) / ITEMS
        assert shown["s a clip"]["value"] == pytest.approx(card["seconds"] / card["clips"])
        assert {name: ranked[name] for name in ("tokens out", "s a clip", "kept", "money")}.items() <= shown.items()
        assert not any(record.unscored_reason for record in read_run(out).records[TASK])
    for page in ("page.html", "board.html"):
        text = (tmp_path / page).read_text("utf-8")
        assert f"{paid:.4f}" in text and "cost nothing in this one" in text
