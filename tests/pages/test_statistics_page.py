"""The page on statistics: its commands run, and its numbers are those that the code gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from beside_people import EXAMPLE, FIRST, SECOND, write_example_run
from docs import ROOT, commands_of, run_all
from logged_runs import TASK, strong, weak, write_run
from yocausal_world import read_metadata, write_release

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.data.home import table_path
from lmms_eval_tasks.utils.people.agreement import people_consistency, run_consistency, share_items, share_options
from lmms_eval_tasks.utils.people.responses import read_human_responses, read_items
from lmms_eval_tasks.utils.scoring.bootstrap import macro_interval
from lmms_eval_tasks.utils.scoring.compare import effect_above_chance
from lmms_eval_tasks.yocausal import release as released
from lmms_eval_tasks.yocausal.card import SUBSETS

PAGE = ROOT / "docs" / "statistics.md"
STUDY = "yocausal"
"""Named in the commands on a study of pairs of clips, which have other responses and a prepared benchmark."""


def test_its_commands_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, right in (("first", weak()), ("second", strong()), ("third", strong())):
        write_run(Path("out") / name, right, question="Which?", keys="AB")
    for name, answers in (("qwen", FIRST), ("llava", SECOND)):
        write_example_run(Path("out") / name, answers)
    shutil.copy(EXAMPLE / "responses.csv", "people.csv")
    shutil.copy(EXAMPLE / "items.csv", "items.csv")
    commands = [words for words in commands_of(PAGE) if words[0] != "lmms-eval" and not is_of_study(words)]
    assert len(commands) == 7
    run_all(commands)
    columns = Path("questions.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert columns.endswith(f'disputed,"run 1, {TASK}","run 2, {TASK}"')


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
    commands = [words for words in commands_of(PAGE) if is_of_study(words)]
    assert len(commands) == 2
    run_all(commands)
    rows = pyarrow.parquet.read_table(table_path(STUDY, "test")).to_pylist()
    assert {row["item_id"] for row in rows if row["human_discriminable"]} == {pairs[0]}


def is_of_study(words: list[str]) -> bool:
    return any(STUDY in word for word in words)


def test_its_numbers() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    low, high = macro_interval([[(100.0, 1.0)] * 20])
    assert f"20 of 20 right is [{low:.1f}, {high:.0f}]" in page
    single, pair = (100 * effect_above_chance(793, chance) for chance in (0.2, 0.04))
    assert f"exceed 20 by {single:.1f} points" in page
    assert f"4 by {pair:.1f} points" in page


def test_its_worked_example_of_people_and_a_run(tmp_path: Path) -> None:
    """The page's figures; by hand, with 12 items, in units of a thirty-sixth: people are right on 25 of 36."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    asked = read_items(EXAMPLE / "items.csv")
    run = read_run(write_example_run(tmp_path / "first"))
    shared = share_items(read_human_responses(EXAMPLE / "responses.csv", asked), asked, [run.records])
    found, people, options = (
        run_consistency(shared.items, 0),
        people_consistency(shared.items),
        share_options(shared.items, 0),
    )
    assert found is not None and found.bounds is not None and people is not None and options is not None
    expected = 7 / 12 * 25 / 36 + 5 / 12 * 11 / 36
    assert (found.right, found.agreement) == (pytest.approx((7 / 12, 25 / 36)), pytest.approx(8 / 12))
    assert (found.expected, found.kappa) == pytest.approx((expected, (8 / 12 - expected) / (1 - expected)))
    assert found.bounds == pytest.approx(((10 / 36 - expected) / (1 - expected), (32 / 36 - expected) / (1 - expected)))
    by_chance = (25 / 36) ** 2 + (11 / 36) ** 2
    assert people.kappa == pytest.approx((22 / 36 - by_chance) / (1 - by_chance))
    assert (options.errors, options.alone, options.same, options.expected) == (
        2,
        1,
        pytest.approx(75),
        pytest.approx(25),
    )
    assert f"People are right in {100 * found.right[1]:.1f}%, so c = {100 * found.expected:.1f}%" in page
    assert f"alike on {100 * found.agreement:.1f}%: κ = {found.kappa:.2f}, at most {found.bounds[1]:.2f}" in page
    assert f"among each other have {people.kappa:.2f}" in page
    assert f"{options.same:.1f}% of these errors are the same option, where {options.expected:.1f}% are" in page
