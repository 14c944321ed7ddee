"""What a run cost, beside what its server counted: a run that a spent budget ended, and the one that went on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from host_run import SampleWorld, own_command, run_host
from model_server import PROMPT_TOKENS, ModelServer

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import COST
from lmms_eval_tasks.runs.run_files import sample_log

pytestmark = pytest.mark.host

TASK = "mvp_mini_intuitive_physics"
ITEMS, FIRST = 12, 5
OUTPUT = [3 * number + 1 for number in range(ITEMS - 1)] + [1024]
"""The tokens of each reply, in their order; the last one was cut off."""
PRICE = "in=2.5,out=10"


def table_of(text: str, title: str) -> dict[str, Any]:
    """The row of the table whose title begins so, by its headings."""
    (table,) = [one for one in json.loads(text)["tables"] if one["title"].startswith(title)]
    return dict(zip(table["columns"], table["rows"][0], strict=True))


def test_costs_equal_what_the_server_counted(sample_world: SampleWorld, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ModelServer(lambda number: ("A", OUTPUT[number])) as server:

        def cost(*options: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
            run_host(*server.arguments(), "--tasks", TASK, *options, home=sample_world.home, out=out)
            latest = read_run(out)
            lines = map(json.loads, sample_log(latest.path, TASK).read_text("utf-8").splitlines())
            counted = sum(line["token_counts"][0].get("output_tokens", 0) for line in lines)
            assert counted == sum(OUTPUT[: len(server.bodies)])
            asked = ["--price", PRICE, "--format", "json"]
            report = own_command(sample_world.home, "report", out, *asked, "--html", tmp_path / "page.html").stdout
            board = own_command(sample_world.home, "board", out, *asked, "--out", tmp_path / "board.html").stdout
            tables = table_of(report, f"{TASK}: what the answers cost"), table_of(board, TASK)
            return dict(latest.card[f"{COST}{TASK}"]), *tables

        budget = FIRST * PROMPT_TOKENS + sum(OUTPUT[:FIRST])
        card, shown, _ = cost("--max_tokens", str(budget))
        assert len(server.bodies) == FIRST
        expected = {"answers": ITEMS, "answers kept": 0, "answers failed": ITEMS - FIRST, "answers cut off": 0}
        assert expected.items() <= card.items()
        assert (card["answers with output tokens"], card["output tokens"]) == (FIRST, sum(OUTPUT[:FIRST]))
        assert shown["failed"] == ITEMS - FIRST and shown["tokens out"]["value"] == sum(OUTPUT[:FIRST]) / FIRST

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
    for page in ("page.html", "board.html"):
        text = (tmp_path / page).read_text("utf-8")
        assert f"{paid:.4f}" in text and "cost nothing in this one" in text
