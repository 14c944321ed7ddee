"""A board's tables for a terminal and for other programs."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.board.tables import BoardTable, Row
from lmms_eval_tasks.utils.core.cells import Cell, Number
from lmms_eval_tasks.utils.core.tables import FittingTable

RANKS = (
    "A rank is 1 plus the number of runs that are significantly better: p < 0.05, adjusted by Holm's method for all "
    "pairs of the table. Runs of one rank tie: no test tells them apart. Runs of two ranks may tie as well."
)
TESTS = (
    "The tests use the intervals alone and not the items, so they tell fewer runs apart than a paired test: for "
    "two runs use lmms-eval-tasks compare."
)
"""How ranks are to be read."""

HOW = "ranks by unpaired tests of the intervals, p < 0.05, Holm's method for all pairs of the table"
"""The same for a table's signature."""


def board_tables(tables: Sequence[BoardTable]) -> list[FittingTable]:
    """A table for each of a board's, and one for what is published of the same."""
    found = []
    for table in tables:
        found.append(_measured(table))
        if table.published:
            found.append(_published(table))
    return found


def overview_table(tables: Sequence[BoardTable]) -> FittingTable:
    """Each run's leading score and rank in every table."""
    numbers = {table.key: str(place) for place, table in enumerate(tables, start=1)}
    headings = [f"({numbers[table.key]})" for table in tables]
    overview = FittingTable("overview: leading scores and ranks", ["run", *headings])
    rows: dict[int, tuple[str, dict[str, Row]]] = {}
    for table in tables:
        for row in table.rows:
            rows.setdefault(int(row.run.tag), (row.run.title, {}))[1][table.key] = row
    for _, (title, places) in sorted(rows.items()):
        overview.add_row(title, *(_with_rank(places.get(table.key)) for table in tables))
    overview.caption = "\n".join(
        f"({numbers[table.key]}) {table.name}, {table.titles[table.leading]}; {table.about}" for table in tables
    )
    return overview


def _with_rank(row: Row | None) -> Cell:
    if row is None:
        return ""
    score = row.leading
    after = f" (rank {row.rank})" if row.rank else ""
    return Number(score.value if score else None, unit=score.unit if score else "", after=after)


def _measured(table: BoardTable) -> FittingTable:
    others = table.others
    headings = ["run", "no.", "rank", table.titles[table.leading], "groups", *(table.titles[one] for one in others)]
    shown = FittingTable(f"{table.name} ({table.about})", [*headings, "size", "frames", "version", "ties with"])
    for row in table.rows:
        score = row.leading
        groups: Cell = "" if score is None or score.groups is None else score.groups
        shown.add_row(
            row.run.title,
            int(row.run.tag),
            row.rank or "–",
            _number(row, table.leading, True),
            groups,
            *(_number(row, metric, metric in table.spans) for metric in others),
            row.run.size,
            row.run.frames,
            row.part.version,
            ", ".join(row.alike),
        )
    shown.caption = "\n".join(table.notes)
    methods = dict.fromkeys(row.run.scores.method for row in table.rows)
    shown.signature = "; ".join(filter(None, (table.name, table.about, *methods, HOW)))
    if not table.official:
        shown.warnings.append(f"NOT THE WHOLE OFFICIAL RELEASE: {table.data}.")
    return shown


def _number(row: Row, metric: str, spanned: bool) -> Number:
    score = row.score(metric)
    if score is None:
        return Number(None)
    low, high = (score.low, score.high) if spanned else (None, None)
    return Number(score.value, low, high, score.groups, score.unit)


def _published(table: BoardTable) -> FittingTable:
    metrics = [one for one in table.titles if any(one in row.values for row in table.published)]
    headings = ["published, not measured here", *(table.titles[metric] for metric in metrics)]
    shown = FittingTable(f"{table.name}: published", headings)
    for row in table.published:
        shown.add_row(row.label, *(Number(row.values[one]) if one in row.values else "" for one in metrics))
    shown.caption = "\n".join(table.sources)
    return shown
