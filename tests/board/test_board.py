"""The board: which runs stand in one table, their order and ranks, and the page on a terminal and in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser
from commands import printed, refusal
from docs import ROOT, commands_of
from expected import Expected
from logged_runs import write_run

from lmms_eval_tasks.board import BoardTable, build_tables, name_scored
from lmms_eval_tasks.runs.run_card import Sections
from lmms_eval_tasks.runs.scores import PartScores, ScoredRun, read_scored
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

TASK, BLIND, GROUP = "mvp_mini_temporal_reasoning", "mvp_mini_temporal_reasoning_blind", "mvp_mini"
HIGH, MIDDLE, LOW = 90, 86, 40
"""How many of 120 pairs are right."""
OFFICIAL, OWN = DataSet(kind=SetKind.OFFICIAL, items=240, of=240), DataSet(kind=SetKind.OWN, items=240)


def write(folder: Path, right: int, tasks: tuple[str, ...] = (TASK,), parameters: int = 0, **run: Any) -> Path:
    answers = {str(pair): (True, pair < right) for pair in range(120)}
    strata = {"subset": "temporal_reasoning", "source": "star"}
    card = {"model": {"parameters": parameters}} if parameters else {}
    return write_run(folder, answers, tasks, strata, **{"kind": OFFICIAL, "card": card, **run})


def write_three(folder: Path) -> list[Path]:
    """Three runs, one also of the blind view."""
    return [
        write(folder / "high", HIGH, (TASK, BLIND), 8_290_000_000),
        write(folder / "low", LOW, parameters=2_100_000_000),
        write(folder / "middle", MIDDLE, parameters=7_600_000_000),
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    printed("board", *write_three(folder), "--out", folder / "board.html")
    return folder / "board.html"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ScoredRun:
    return read_scored(write(tmp_path_factory.mktemp("runs") / "run", HIGH))


def part_of(run: ScoredRun, **changes: Any) -> PartScores:
    return run.scores.part(TASK).model_copy(update=changes)


def tables_of(runs: Sequence[ScoredRun], *parts: PartScores, only: str = "") -> list[BoardTable]:
    """The tables of runs, and of the first one with each of some parts in place of its own."""
    more = [replace(runs[0], scores=runs[0].scores.model_copy(update={"parts": [part]})) for part in parts]
    shown = [*runs, *more]
    return build_tables(name_scored(shown, [f"run {place}" for place, _ in enumerate(shown)]), only)


def sizes(tables: Sequence[BoardTable]) -> list[int]:
    return sorted(len(table.rows) for table in tables)


def test_runs_stand_by_rank_then_score_and_those_without_an_interval_last(tmp_path: Path) -> None:
    runs = [read_scored(write(tmp_path / str(right), right)) for right in (LOW, HIGH, MIDDLE)]
    bare = [entry.model_copy(update={"value": 99.0, "low": None, "high": None}) for entry in part_of(runs[0]).scores]
    (table,) = tables_of(runs, part_of(runs[0], scores=bare))
    assert [(row.run.title, row.rank, row.alike) for row in table.rows] == [
        ("run 1", 1, ("3",)), ("run 2", 1, ("2",)), ("run 0", 3, ()), ("run 3", None, ()),
    ]  # fmt: skip
    assert "Runs without an interval have no rank." in table.notes


def test_scores_that_cannot_be_compared_stand_in_tables_of_their_own(run: ScoredRun) -> None:
    own: dict[str, Any] = {"data": [OWN], "apart": OWN.text}
    for other in ({"version": "2-A"}, {"name": BLIND, "tasks": [BLIND], "view": "blind"}, own, {"apart": "--limit 3"}):
        tables = tables_of([run], part_of(run, **other))
        assert sizes(tables) == [1, 1] and len({table.key for table in tables}) == 2
        kinds = [{row.kind for row in table.published} for table in tables]
        # Published scores stand beside all items of the official release alone.
        assert {"chance", "people", "published"} in kinds and (set() in kinds or other == {"version": "2-A"})
    (table,) = tables_of([run], part_of(run, version="1-B"))
    assert len(table.rows) == 2 and table.version == "1", "interfaces of one version"
    # Of other data the same digest is compared alone.
    runs = [replace(run, card={f"task {TASK}": {"data sha256": digest}}) for digest in ("aa", "aa", "bb", "")]
    found = [replace(one, scores=one.scores.model_copy(update={"parts": [part_of(run, **own)]})) for one in runs]
    assert sizes(tables_of(found[:3])) == [1, 2]
    (unknown,) = tables_of(found[3:] * 2)
    assert "is not known" in " ".join(unknown.notes)


def test_a_card_says_size_and_frames_and_nothing_is_guessed(run: ScoredRun) -> None:
    card: Sections = {"model": {"parameters": 8_290_000_000}, "frames": {"frames": "16: of the task"}}
    known, by_rate = replace(run, card=card), replace(run, card={"frames": {"frames": "not set", "fps": 2}})
    found = [(one.size, one.size_range, one.frames) for one in name_scored([known, by_rate], ["one", "7B"])]
    assert found == [("8.3B", "4B to 10B", "16"), ("not known", "not known", "2 fps")]


def test_a_task_is_shown_alone_where_it_is_asked_for(run: ScoredRun) -> None:
    parts = [part_of(run, name=GROUP, tasks=[TASK, "mvp_mini_intuitive_physics"]), part_of(run)]
    grouped = replace(run, scores=run.scores.model_copy(update={"parts": parts}))
    for only, shown in (("", GROUP), (GROUP, GROUP), (TASK, TASK)):
        assert [table.name for table in tables_of([grouped], only=only)] == [shown]
    with pytest.raises(InputError, match=r"any of mvp_mini, but got yocausal\."):
        tables_of([grouped], only="yocausal")


@pytest.mark.slow
def test_the_terminal_has_ranks_ties_and_published_scores_apart(
    tmp_path: Path, written: Path, expected: Expected
) -> None:
    own = write(tmp_path / "own", 84, kind=OWN)
    out = tmp_path / "board.html"
    expected(
        printed("board", *write_three(tmp_path), "--format", "markdown", "--out", out).partition("\nPage:")[0]
        + printed("board", own, "--name", "<script>alert(1)</script>", "--out", tmp_path / "own.html")
    )
    # The same scores give the same bytes in any folder.
    assert out.read_bytes() == written.read_bytes() and str(tmp_path).encode() not in out.read_bytes()
    page = (tmp_path / "own.html").read_text(encoding="utf-8")
    assert "Not the whole official release." in page
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    (tmp_path / "empty").mkdir()
    expected(refusal("board", tmp_path / "empty", "--out", tmp_path / "none.html") + refusal("board", own, own))
    assert not (tmp_path / "none.html").exists()


def test_the_commands_of_the_page_make_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in zip(write_three(tmp_path / "made"), ("qwen", "internvl", "llava"), strict=True):
        shutil.copytree(folder, tmp_path / "results" / name)
    ours = [words for words in commands_of(ROOT / "docs" / "board.md") if words[0] == "lmms-eval-tasks"]
    assert len(ours) == 2
    for _, *words in ours:
        found = sorted(map(str, Path().glob("results/*")))
        printed(*(one for word in words for one in (found if word == "results/*" else [word])))
        assert Path("board.html").read_bytes()


@pytest.mark.browser
def test_rows_are_sorted_and_filtered_and_the_address_keeps_both(written: Path, tmp_path: Path) -> None:
    def shown(table: str = TASK) -> list[str]:
        """The runs of a table that are in sight, in their order."""
        rows = page.each(
            f"[id='{table}'] tbody.measured tr", "[e.checkVisibility(), e.querySelector('th').dataset.value]"
        )
        return [name for is_seen, name in rows if is_seen]

    with browser(tmp_path) as driver:
        page = Page(driver, written, "board-shown")
        assert shown() == ["replay high", "replay middle", "replay low"] and shown(BLIND) == ["replay high"]
        heading = f"[id='{TASK}'] [data-sort='pair_accuracy']"
        for _ in range(2):
            page.run("document.querySelector(arguments[0]).click()", heading)
        assert shown() == ["replay low", "replay middle", "replay high"]
        assert page.each(heading, "e.parentElement.getAttribute('aria-sort')") == ["ascending"]
        page.choose("[name=size]", "4B to 10B")
        assert shown() == ["replay middle", "replay high"] and page.counted == "3 of 4 rows"
        assert page.texts("tbody.measured tr[data-run='3'] .rank")[0] == "1"
        driver.refresh()
        page.wait_shown()
        assert shown() == ["replay middle", "replay high"]
        page.choose("[name=view]", "blind")
        assert shown() == [] and shown(BLIND) == ["replay high"]
        page.run("document.getElementById('reset').click()")
        assert shown() == ["replay high", "replay middle", "replay low"] and "#" not in page.run("return location.href")
        with page.sized(500):
            assert page.run("return document.documentElement.scrollWidth") <= 500
        assert page.complaints == []
