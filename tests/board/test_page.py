"""The board's page and command: the same bytes each time, tables on a terminal, sorting and filters in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board_runs import OWN, TASK, part, write_scored
from browser import Page, browser
from docs import ROOT, blocks
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app

RUNS = {
    "high": ((62.0, 58.5, 65.4), 8_290_000_000),
    "low": ((48.2, 44.7, 51.8), 2_100_000_000),
    "middle": ((60.1, 56.7, 63.5), 7_600_000_000),
}


def write_runs(folder: Path) -> list[Path]:
    """Three runs of MVP, one also of its blind view."""
    blind = part((31.0, 25.0, 37.0), name=f"{TASK}_blind", view="blind")
    return [
        write_scored(folder / name, part(span), *([blind] if name == "high" else []), parameters=parameters)
        for name, (span, parameters) in RUNS.items()
    ]


def run_board(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["board", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    run_board(*write_runs(folder), "--out", folder / "board.html")
    return folder / "board.html"


def test_the_same_scores_give_the_same_bytes_in_any_folder(tmp_path: Path, written: Path) -> None:
    run_board(*write_runs(tmp_path / "elsewhere"), "--out", tmp_path / "board.html")
    page = (tmp_path / "board.html").read_bytes()
    assert page == written.read_bytes()
    assert str(tmp_path).encode() not in page and b"elsewhere" not in page


def test_the_terminal_has_ranks_ties_and_published_scores_apart(tmp_path: Path) -> None:
    output = run_board(*write_runs(tmp_path), "--format", "markdown")
    assert "| high | 1 | 1 | 62.0 [58.5, 65.4] | 793 | 8.3B | not known | 1-A | 3 |" in output.splitlines()
    assert "published, not measured here" in output and "| people" in output
    assert "NOT THE WHOLE OFFICIAL RELEASE" not in output


def test_an_own_set_is_named_as_one(tmp_path: Path) -> None:
    run = write_scored(tmp_path / "own", part((70.0, 50.0, 85.0), data=OWN))
    output = run_board(run, "--out", tmp_path / "board.html")
    assert "NOT THE WHOLE OFFICIAL RELEASE: a set of one's own, 40 items." in output
    assert "Not the whole official release." in (tmp_path / "board.html").read_text(encoding="utf-8")


def test_a_name_is_text(tmp_path: Path) -> None:
    run = write_scored(tmp_path / "run", part((70.0, 50.0, 85.0)))
    run_board(run, "--name", "<script>alert(1)</script>", "--out", tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page


def test_a_folder_without_scores_says_what_makes_them(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(app, ["board", str(tmp_path / "empty"), "--out", str(tmp_path / "board.html")])
    assert result.exit_code != 0 and "lmms-eval-tasks rescore RUN --out DIR" in " ".join(result.output.split())
    assert not (tmp_path / "board.html").exists()


def test_a_run_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    run = write_scored(tmp_path / "run", part((70.0, 50.0, 85.0)))
    result = CliRunner().invoke(app, ["board", str(run), str(run)])
    assert result.exit_code != 0 and "are one run" in " ".join(result.output.split())


def test_the_commands_of_the_page_make_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in zip(write_runs(tmp_path / "made"), ("qwen", "internvl", "llava"), strict=True):
        shutil.copytree(folder, tmp_path / "results" / name)
    commands = [words for block in blocks(ROOT / "docs" / "board.md") for words in block.commands()]
    ours = [words[1:] for words in commands if words[0] == "lmms-eval-tasks"]
    assert len(ours) == 2
    for _, *arguments in ours:
        sources = sorted(map(str, Path().glob("results/*")))
        expanded = [one for word in arguments for one in (sources if word == "results/*" else [word])]
        run_board(*expanded)
        assert Path("board.html").read_bytes()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def shown(page: Page, table: str = TASK) -> list[str]:
    """The runs of a table that are in sight, in their order."""
    rows: list[str] = page.run(
        """return [...document.querySelectorAll(`[id="${arguments[0]}"] tbody.measured tr`)]
             .filter(row => row.checkVisibility()).map(row => row.querySelector('th').dataset.value)""",
        table,
    )
    return rows


@pytest.mark.browser
def test_rows_are_sorted_and_filtered_and_the_address_keeps_both(driver: Any, written: Path) -> None:
    page = Page(driver, written, "board-shown")
    assert shown(page) == ["high", "middle", "low"] and shown(page, f"{TASK}_blind") == ["high"]
    heading = f"[id='{TASK}'] [data-sort='pair_accuracy']"
    page.run("document.querySelector(arguments[0]).click()", heading)
    page.run("document.querySelector(arguments[0]).click()", heading)
    assert shown(page) == ["low", "middle", "high"]
    sort = page.run("return document.querySelector(arguments[0]).parentElement.getAttribute('aria-sort')", heading)
    assert sort == "ascending"
    page.choose("[name=size]", "4B to 10B")
    assert shown(page) == ["middle", "high"] and page.counted == "3 of 4 rows"
    rank = page.run("return document.querySelector('tbody.measured tr[data-run=\"3\"] .rank').textContent")
    assert rank == "1"
    driver.refresh()
    page.wait("return performance.getEntriesByName('board-shown').length > 0")
    assert shown(page) == ["middle", "high"]
    page.choose("[name=view]", "blind")
    assert shown(page) == [] and shown(page, f"{TASK}_blind") == ["high"]
    page.run("document.getElementById('reset').click()")
    assert shown(page) == ["high", "middle", "low"] and "#" not in page.run("return location.href")
    assert page.complaints == []


@pytest.mark.browser
def test_the_page_fits_a_narrow_window(driver: Any, written: Path) -> None:
    page = Page(driver, written, "board-shown")
    narrow = {"width": 500, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        assert page.run("return document.documentElement.scrollWidth") <= 500
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
