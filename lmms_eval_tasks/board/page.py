"""The board's page: tables that can be sorted and filtered, in one file that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

import lmms_eval_tasks
from lmms_eval_tasks.board.printed import RANKS, TESTS
from lmms_eval_tasks.board.runs import LARGEST, RANGES, BoardRun
from lmms_eval_tasks.board.tables import BoardTable, Row, find_score
from lmms_eval_tasks.report.page import ASSETS as REPORT_ASSETS
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.wording import escape_surrogates
from lmms_eval_tasks.utils.reporting.columns import number_text
from lmms_eval_tasks.utils.reporting.palette import ink_styles
from lmms_eval_tasks.utils.reporting.templates import run_badge, script_digest, template_environment
from lmms_eval_tasks.utils.runs.run_card import NOT_KNOWN

ASSETS = Path(__file__).parent / "assets"
STYLES = (REPORT_ASSETS / "page.css", ASSETS / "board.css")
SIZES = [*(name for _, name in RANGES), LARGEST]
"""Ranges of sizes in their order."""
Filter = tuple[str, Callable[[BoardTable, Row], str]]
FILTERS: dict[str, Filter] = {
    "size": ("Size", lambda table, row: row.run.size_range),
    "frames": ("Frames", lambda table, row: row.run.frames),
    "version": ("Version", lambda table, row: row.part.version or NOT_KNOWN),
    "view": ("View", lambda table, row: table.view),
    "set": ("Set", lambda table, row: table.kind),
}
"""Each filter's name in the page's address to its label, and what a row is in it."""


def write_board(tables: Sequence[BoardTable], path: Path) -> None:
    """Write a board as one HTML page; the same scores and cards give the same bytes, whatever folders they lie in."""
    write_file(path, escape_surrogates(build_board(tables)))


def build_board(tables: Sequence[BoardTable]) -> str:
    """The page's text."""
    runs = {int(row.run.tag): row.run for table in tables for row in table.rows}
    script = (ASSETS / "board.js").read_text(encoding="utf-8").strip()
    environment = template_environment(ASSETS)
    environment.filters |= {
        "number": number_text,
        "percent": lambda share: f"{100 * share:.2f}%",
        "score_of": find_score,
    }
    return environment.get_template("board.html").render(
        version=lmms_eval_tasks.__version__,
        tables=tables,
        overview=list(_overview(tables, [runs[number] for number in sorted(runs)])) if len(tables) > 1 else [],
        runs=len(runs),
        filters=list(_filters(tables)),
        chosen=lambda table, row: {name: of(table, row) for name, (_, of) in FILTERS.items()},
        place=_place,
        frames_number=_frames_number,
        ranks=RANKS,
        tests=TESTS,
        not_known=NOT_KNOWN,
        badge=run_badge,
        style=Markup("\n".join([ink_styles(), *(path.read_text(encoding="utf-8").strip() for path in STYLES)])),
        script=Markup(script),
        script_digest=script_digest(script),
    )


def _overview(tables: Sequence[BoardTable], runs: Sequence[BoardRun]) -> Iterator[tuple[BoardRun, list[Row | None]]]:
    for run in runs:
        yield run, [next((row for row in table.rows if row.run.tag == run.tag), None) for table in tables]


def _filters(tables: Sequence[BoardTable]) -> Iterator[tuple[str, str, list[str]]]:
    """Name, label and values of each filter that tells rows apart."""
    for name, (label, of) in FILTERS.items():
        values = {of(table, row) for table in tables for row in table.rows}
        if len(values) > 1:
            yield name, label, sorted(values, key=_order)


def _order(value: str) -> tuple[bool, int, float, str]:
    """Sizes by size, numbers by number, other texts by alphabet, and last what is not known."""
    number = _frames_number(value)
    size = SIZES.index(value) if value in SIZES else len(SIZES)
    return value == NOT_KNOWN, size, float("inf") if number is None else number, value


def _frames_number(value: str) -> float | None:
    """The number that a text begins with."""
    try:
        return float(value.split(" ")[0].rstrip(","))
    except ValueError:
        return None


def _place(value: float, table: BoardTable) -> float:
    """Where a value lies on a table's axis, 0-1."""
    low, high = table.axis
    return min(max(0.0, (value - low) / (high - low)), 1.0)
