"""The page on statistics: its commands run, and its numbers are those that the code gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from docs import ROOT, blocks
from logged_runs import strong, weak, write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli import app
from lmms_eval_tasks.utils.stats.bootstrap import macro_interval
from lmms_eval_tasks.utils.stats.detectable import effect_above_chance

PAGE = ROOT / "docs" / "statistics.md"
EXAMPLE = Path(__file__).parent / "utils" / "stats" / "human_example"


def test_its_commands_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, right in (("first", weak()), ("second", strong()), ("third", strong())):
        write_run(Path("out") / name, right, question="Which?", keys="AB")
    shutil.copy(EXAMPLE / "responses.csv", "people.csv")
    shutil.copy(EXAMPLE / "items.csv", "items.csv")
    commands = [words for block in blocks(PAGE) for words in block.commands()]
    # A study of pairs of clips needs a prepared benchmark, which the tests of its folder have.
    commands = [words for words in commands if "--labels-out" not in words and "--labels" not in words]
    assert len(commands) == 5
    for program, *arguments in commands:
        result = CliRunner().invoke(app, arguments)
        assert (program, result.exit_code) == ("lmms-eval-tasks", 0), result.output
    assert Path("questions.csv").is_file()


def test_its_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    low, high = macro_interval([[(100.0, 1.0)] * 20])
    assert f"20 of 20 right is\n[{low:.1f}, {high:.0f}]" in page
    single, pair = (100 * effect_above_chance(793, chance) for chance in (0.2, 0.04))
    assert f"exceed 20 by {single:.1f} points" in page
    assert f"4 by {pair:.1f} points" in page
