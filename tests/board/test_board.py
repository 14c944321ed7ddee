"""The board: which runs stand in one table, their order and ranks, and the page on a terminal and in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board_runs import OFFICIAL, OWN, TASK, part, write_scored
from browser import Page, browser
from commands import printed, refusal
from docs import ROOT, blocks
from expected import Expected

from lmms_eval_tasks.board import BoardTable, build_tables, name_scored
from lmms_eval_tasks.runs.scores import read_scored
from lmms_eval_tasks.utils.core.errors import InputError

HIGH, MIDDLE, LOW = (62.0, 58.5, 65.4), (60.1, 56.7, 63.5), (48.2, 44.7, 51.8)
RUNS = {"high": (HIGH, 8_290_000_000), "low": (LOW, 2_100_000_000), "middle": (MIDDLE, 7_600_000_000)}


def tables_of(*folders: Path, only: str = "") -> list[BoardTable]:
    return build_tables(name_scored([read_scored(folder) for folder in folders]), only)


def ranks(table: BoardTable) -> list[tuple[str, int | None]]:
    return [(row.run.title, row.rank) for row in table.rows]


def write_runs(folder: Path) -> list[Path]:
    """Three runs of MVP, one also of its blind view."""
    blind = part((31.0, 25.0, 37.0), name=f"{TASK}_blind", view="blind")
    return [
        write_scored(folder / name, part(span), *([blind] if name == "high" else []), parameters=parameters)
        for name, (span, parameters) in RUNS.items()
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    printed("board", *write_runs(folder), "--out", folder / "board.html")
    return folder / "board.html"


def test_runs_stand_by_rank_then_score_and_those_without_an_interval_last(tmp_path: Path) -> None:
    spans = {"low": LOW, "bare": (99.0, None, None), "high": HIGH, "middle": MIDDLE}
    (table,) = tables_of(*(write_scored(tmp_path / name, part(span)) for name, span in spans.items()))
    assert ranks(table) == [("high", 1), ("middle", 1), ("low", 3), ("bare", None)]
    assert [row.alike for row in table.rows] == [("4",), ("3",), (), ()]
    assert "Runs without an interval have no rank." in table.notes


@pytest.mark.parametrize(
    "other", [{"version": "2-A"}, {"name": f"{TASK}_blind", "view": "blind"}, {"data": OWN}, {"apart": "--limit 3"}]
)
def test_scores_that_cannot_be_compared_stand_in_tables_of_their_own(tmp_path: Path, other: dict[str, Any]) -> None:
    first, second = write_scored(tmp_path / "1", part(HIGH)), write_scored(tmp_path / "2", part(LOW, **other))
    tables = tables_of(first, second)
    assert sorted(ranks(table) for table in tables) == [[("1", 1)], [("2", 1)]]
    assert len({table.key for table in tables}) == 2


def test_comparable_are_interfaces_of_a_version_and_of_other_data_the_same_alone(tmp_path: Path) -> None:
    (table,) = tables_of(*(write_scored(tmp_path / name, part(HIGH, version=name)) for name in ("1-A", "1-B")))
    assert len(table.rows) == 2 and table.version == "1"
    digests = {"one": "aa", "same": "aa", "other": "bb"}
    runs = [write_scored(tmp_path / name, part(HIGH, data=OWN), digest=digest) for name, digest in digests.items()]
    assert sorted(len(table.rows) for table in tables_of(*runs)) == [1, 2]
    unknown = [write_scored(tmp_path / name, part(HIGH, data=OWN)) for name in ("third", "fourth")]
    (table,) = tables_of(*unknown)
    assert "is not known" in " ".join(table.notes)


def test_published_scores_stand_beside_the_whole_official_release_alone(tmp_path: Path) -> None:
    runs = [
        write_scored(tmp_path / "whole", part(HIGH, data=OFFICIAL)),
        write_scored(tmp_path / "own", part(HIGH, data=OWN)),
        write_scored(tmp_path / "blind", part(HIGH, name=f"{TASK}_blind", view="blind")),
    ]
    published = {table.rows[0].run.title: [row.kind for row in table.published] for table in tables_of(*runs)}
    assert published["own"] == published["blind"] == []
    assert published["whole"][:2] == ["chance", "people"] and set(published["whole"][2:]) == {"published"}


def test_a_card_says_size_and_frames_and_nothing_is_guessed(tmp_path: Path) -> None:
    known = write_scored(tmp_path / "known", part(HIGH), parameters=8_290_000_000, frames={"frames": "16: of the task"})
    by_rate = write_scored(tmp_path / "by-rate-7B", part(HIGH), frames={"frames": "not set", "fps": 2})
    runs = name_scored([read_scored(one) for one in (known, by_rate)])
    found = [(run.size, run.size_range, run.frames) for run in runs]
    assert found == [("8.3B", "4B to 10B", "16"), ("not known", "not known", "2 fps")]


def test_a_task_is_shown_alone_where_it_is_asked_for(tmp_path: Path) -> None:
    group = part(HIGH)
    member = part(LOW).model_copy(update={"name": group.tasks[0], "tasks": group.tasks[:1]})
    run = write_scored(tmp_path / "run", group, member)
    assert [table.name for table in tables_of(run)] == [table.name for table in tables_of(run, only=TASK)] == [TASK]
    assert [table.name for table in tables_of(run, only=member.name)] == [member.name]
    with pytest.raises(InputError, match=r"any of mvp_mini, but got yocausal\."):
        tables_of(run, only="yocausal")


def test_the_terminal_has_ranks_ties_and_published_scores_apart(tmp_path: Path, expected: Expected) -> None:
    own = write_scored(tmp_path / "own", part((70.0, 50.0, 85.0), data=OWN))
    out = tmp_path / "board.html"
    expected(
        printed("board", *write_runs(tmp_path), "--format", "markdown")
        + printed("board", own, "--name", "<script>alert(1)</script>", "--out", out)
    )
    page = out.read_text(encoding="utf-8")
    assert "Not the whole official release." in page
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    (tmp_path / "empty").mkdir()
    expected(refusal("board", tmp_path / "empty", "--out", tmp_path / "none.html") + refusal("board", own, own))
    assert not (tmp_path / "none.html").exists()


def test_the_same_scores_give_the_same_bytes_in_any_folder(tmp_path: Path, written: Path) -> None:
    printed("board", *write_runs(tmp_path / "elsewhere"), "--out", tmp_path / "board.html")
    page = (tmp_path / "board.html").read_bytes()
    assert page == written.read_bytes()
    assert str(tmp_path).encode() not in page and b"elsewhere" not in page


def test_the_commands_of_the_page_make_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in zip(write_runs(tmp_path / "made"), ("qwen", "internvl", "llava"), strict=True):
        shutil.copytree(folder, tmp_path / "results" / name)
    commands = [words for block in blocks(ROOT / "docs" / "board.md") for words in block.commands()]
    ours = [words[1:] for words in commands if words[0] == "lmms-eval-tasks"]
    assert len(ours) == 2
    for words in ours:
        sources = sorted(map(str, Path().glob("results/*")))
        printed(*(one for word in words for one in (sources if word == "results/*" else [word])))
        assert Path("board.html").read_bytes()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.browser
def test_rows_are_sorted_and_filtered_and_the_address_keeps_both(driver: Any, written: Path) -> None:
    def shown(table: str = TASK) -> list[str]:
        """The runs of a table that are in sight, in their order."""
        rows = page.each(
            f"[id='{table}'] tbody.measured tr", "[e.checkVisibility(), e.querySelector('th').dataset.value]"
        )
        return [name for is_seen, name in rows if is_seen]

    page = Page(driver, written, "board-shown")
    assert shown() == ["high", "middle", "low"] and shown(f"{TASK}_blind") == ["high"]
    heading = f"[id='{TASK}'] [data-sort='pair_accuracy']"
    for _ in range(2):
        page.run("document.querySelector(arguments[0]).click()", heading)
    assert shown() == ["low", "middle", "high"]
    assert page.each(heading, "e.parentElement.getAttribute('aria-sort')") == ["ascending"]
    page.choose("[name=size]", "4B to 10B")
    assert shown() == ["middle", "high"] and page.counted == "3 of 4 rows"
    assert page.texts("tbody.measured tr[data-run='3'] .rank")[0] == "1"
    driver.refresh()
    page.wait("return performance.getEntriesByName('board-shown').length > 0")
    assert shown() == ["middle", "high"]
    page.choose("[name=view]", "blind")
    assert shown() == [] and shown(f"{TASK}_blind") == ["high"]
    page.run("document.getElementById('reset').click()")
    assert shown() == ["high", "middle", "low"] and "#" not in page.run("return location.href")
    with page.sized(500):
        assert page.run("return document.documentElement.scrollWidth") <= 500
    assert page.complaints == []
