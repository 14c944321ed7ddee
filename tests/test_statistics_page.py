"""The page on statistics: its commands run, and its numbers are those that the code gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from docs import ROOT, blocks
from logged_runs import strong, weak, write_run
from typer.testing import CliRunner
from yocausal_world import read_metadata, write_release

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.utils.data.home import table_path
from lmms_eval_tasks.utils.stats.bootstrap import macro_interval
from lmms_eval_tasks.utils.stats.detectable import effect_above_chance
from lmms_eval_tasks.yocausal import released
from lmms_eval_tasks.yocausal.card import SUBSETS

PAGE = ROOT / "docs" / "statistics.md"
EXAMPLE = Path(__file__).parent / "utils" / "stats" / "human_example"


STUDY = "yocausal"
"""Named in the commands on a study of pairs of clips, which have other responses and a prepared benchmark."""


def test_its_commands_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, right in (("first", weak()), ("second", strong()), ("third", strong())):
        write_run(Path("out") / name, right, question="Which?", keys="AB")
    shutil.copy(EXAMPLE / "responses.csv", "people.csv")
    shutil.copy(EXAMPLE / "items.csv", "items.csv")
    commands = [words for words in page_commands() if not is_of_study(words)]
    assert len(commands) == 5
    run_all(commands)
    assert Path("questions.csv").is_file()


@pytest.mark.slow
def test_its_commands_on_a_study_of_pairs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release in place of the one on the hub is the sample's, of which people can tell the first pair alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    release = write_release(tmp_path / "release", pairs=1)
    monkeypatch.setattr(released, "download_dataset", lambda *_: (release, None))
    pairs = [f"{subset}_{entry['id']}" for subset in SUBSETS for entry in read_metadata(release, subset)]
    responses = [f"{item},forward_first,a{n},{'first' if n else 'second'}" for n, item in enumerate(pairs)]
    Path("people.csv").write_text("\n".join(["item,version,annotator,choice", *responses]) + "\n", encoding="utf-8")
    run_all([["lmms-eval-tasks", "prepare", STUDY]])
    commands = [words for words in page_commands() if is_of_study(words)]
    assert len(commands) == 2
    run_all(commands)
    rows = pyarrow.parquet.read_table(table_path(STUDY, "test")).to_pylist()
    assert {row["item_id"] for row in rows if row["human_discriminable"]} == {pairs[0]}


def page_commands() -> list[list[str]]:
    return [words for block in blocks(PAGE) for words in block.commands()]


def is_of_study(words: list[str]) -> bool:
    return any(STUDY in word for word in words)


def run_all(commands: list[list[str]]) -> None:
    for program, *arguments in commands:
        result = CliRunner().invoke(app, arguments)
        assert (program, result.exit_code) == ("lmms-eval-tasks", 0), result.output


def test_its_numbers() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    low, high = macro_interval([[(100.0, 1.0)] * 20])
    assert f"20 of 20 right is [{low:.1f}, {high:.0f}]" in page
    single, pair = (100 * effect_above_chance(793, chance) for chance in (0.2, 0.04))
    assert f"exceed 20 by {single:.1f} points" in page
    assert f"4 by {pair:.1f} points" in page
