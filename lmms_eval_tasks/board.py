"""A leaderboard of a user's own runs, ranked by task from their scores and cards alone, as tables and as a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import NamedTuple

from lmms_eval_tasks.report.page_files import ASSETS, render_page
from lmms_eval_tasks.report.score_tables import columns_of
from lmms_eval_tasks.runs.costs import READING, Cost, Price, cost_columns
from lmms_eval_tasks.runs.folder import Run, name_runs
from lmms_eval_tasks.runs.run_card import NOT_KNOWN, TASK, Sections
from lmms_eval_tasks.runs.scores import PartScores, ScoredRun, ScoreEntry, ScoresFile, metrics_of, references_of
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Number
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.reporting.figure import fit_axis
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, facts_of, reference_notes
from lmms_eval_tasks.utils.scoring.compare import Scored, rank_scores

NOT_SET = "not set"
"""What a card says of frames that a model decides on."""
RANGES = ((1e9, "below 1B"), (4e9, "1B to 4B"), (10e9, "4B to 10B"), (40e9, "10B to 40B"))
"""Sizes by which rows are filtered, each with the number of parameters that it stays below."""
LARGEST = "40B and more"


@dataclass(frozen=True)
class BoardRun:
    tag: str
    title: str
    scores: ScoresFile
    card: Sections

    @property
    def parameters(self) -> int | None:
        value = self.card.get("model", {}).get("parameters")
        return value if isinstance(value, int) else None

    @property
    def size(self) -> str:
        number = self.parameters
        if number is None:
            return NOT_KNOWN
        return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"

    @property
    def size_range(self) -> str:
        number = self.parameters
        return NOT_KNOWN if number is None else next((name for most, name in RANGES if number < most), LARGEST)

    @property
    def frames(self) -> str:
        asked = self.card.get("frames", {})
        number, rate = asked.get("frames"), asked.get("fps")
        known = [str(number).partition(":")[0]] if number not in (None, NOT_SET) else []
        known += [f"{rate} fps"] if rate not in (None, NOT_SET) else []
        return ", ".join(known) or ("as the model decides" if NOT_SET in (number, rate) else NOT_KNOWN)

    def digests(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """The digests of the data of some tasks; an empty one where the card does not say."""
        return tuple(str(self.card.get(f"{TASK}{task}", {}).get("data sha256") or "") for task in tasks)


def name_scored(runs: Sequence[ScoredRun], names: Sequence[str] = ()) -> list[BoardRun]:
    named = name_runs([Run(one.path, one.scores.model, {}, {}, {}) for one in runs], names)
    return [
        BoardRun(str(number), run.title, one.scores, one.card)
        for number, (one, run) in enumerate(zip(runs, named, strict=True), start=1)
    ]


SAME_DATA = "That these runs were asked the same items is not known: their cards do not name their data."
ESTIMATED = "Where groups are some of more, scores of all are estimated from a sample of them."
NO_RANK = "Runs without an interval have no rank."


@dataclass(frozen=True)
class Row:
    run: BoardRun
    part: PartScores
    rank: int | None = None
    alike: tuple[str, ...] = ()

    @property
    def leading(self) -> ScoreEntry | None:
        return self.part.find(self.part.leading)

    def score(self, metric: str, spanned: bool) -> Number:
        score = self.part.find(metric)
        if score is None:
            return Number(None)
        low, high = (score.low, score.high) if spanned else (None, None)
        return Number(score.value, low, high, score.groups, score.unit)

    def groups(self) -> Cell:
        if self.leading is None or self.leading.groups is None:
            return ""
        sampled = self.part.sampled
        return f"{self.leading.groups:,} of {sampled.groups:,}" if sampled else self.leading.groups

    def groups_number(self) -> int | None:
        return self.leading.groups if self.leading else None

    def cost(self, name: str, price: Price) -> Cell:
        cost = Cost.of(self.run.card, self.part.tasks)
        return cost.cells(price).get(name, "") if cost else ""


class PublishedRow(NamedTuple):
    label: str
    kind: str
    values: dict[str, float]


class BoardColumn(NamedTuple):
    """A column of a board, on a terminal and on its page."""

    key: str
    """Its name in the page's address."""
    heading: str
    cell: Callable[[Row], Cell]
    number: Callable[[Row], float | None] | None = None
    """The number by which the page sorts its texts; texts are sorted as such where there is none."""
    falling: bool = False
    """Whether the page puts the highest first at the first click."""

    def order(self, row: Row) -> Cell | float | None:
        """What a row is sorted by in this column; None where nothing is known."""
        cell = self.cell(row)
        if isinstance(cell, Number):
            return cell.value
        return self.number(row) if self.number else None if cell in ("", NOT_KNOWN) else cell


class BoardTable:
    """Runs that can be compared: of one task or group, one N of its version, one view and one set."""

    def __init__(self, key: str, entries: Sequence[tuple[BoardRun, PartScores]], price: Price) -> None:
        part = entries[0][1]
        self.key, self.name, self.leading = key, part.name, part.leading
        self.version, self.view, self.official = _major(part), part.view or "whole items", not part.apart
        self.rows = _ranked(entries)
        items = max(sum(row.part.outcomes.values()) for row in self.rows)
        beside = self.official and not part.view and items
        of_set = 0 if any(row.part.sampled for row in self.rows) else items
        references = references_of(part.name, part.tasks[0], of_set) if beside else ()
        self.published, self.sources = _published(references, part.leading), reference_notes(references)
        kinds = {SetKind.PART if one.is_official else one.kind for one in part.data}
        # Items left out of the official release leave a part of it.
        self.kind = SetKind.OFFICIAL.value if self.official else kinds.pop().value if len(kinds) == 1 else "mixed"
        self.data = ", ".join(one.text for one in part.data)
        if part.apart:
            self.data = f"{self.data}; {part.apart}" if all(one.is_official for one in part.data) else part.apart
        values = [end for row in self.rows if (one := row.leading) for end in (one.value, one.low, one.high)]
        values += [row.values.get(part.leading) for row in self.published]
        known = [value for value in values if value is not None]
        metric = next((one for one in metrics_of(part.tasks[0]) if one.name == part.leading), None)
        self.axis = fit_axis(metric.bounds, known) if metric else (min(0.0, *known, 0.0), max(100.0, *known, 100.0))
        costs = cost_columns([Cost.of(row.run.card, row.part.tasks) for row in self.rows], price)
        self.columns = self._columns(costs, price)
        self.notes = [NO_RANK] if any(row.rank is None for row in self.rows) else []
        self.notes += [ESTIMATED] if any(row.part.sampled for row in self.rows) else []
        digests = (row.run.digests(part.tasks) for row in self.rows)
        if not self.official and len(self.rows) > 1 and not all(map(all, digests)):
            self.notes.append(SAME_DATA)
        self.notes += [READING] if costs else []

    @property
    def about(self) -> str:
        return f"version {self.version}, {self.view}, {self.data}"

    def _columns(self, costs: Sequence[str], price: Price) -> list[BoardColumn]:
        """The leading score and its groups, the other scores, and what the run cards say."""
        known = {one.metric: one for row in self.rows for one in row.part.scores if one.kind == "mean"}
        columns = [one for one in columns_of(self.rows[0].part.tasks[0]) if one.metric and one.metric.name in known]
        spans = {one.metric.name for one in columns if one.metric and one.interval} | {self.leading}
        titles = {self.leading: known[self.leading].title if self.leading in known else self.leading}
        scores = []
        for metric, title in (titles | {one.metric.name: one.heading for one in columns if one.metric}).items():
            first = next(filter(None, (row.part.find(metric) for row in self.rows)), None)
            falling = first is None or first.higher_is_better is not False
            cell = partial(Row.score, metric=metric, spanned=metric in spans)
            scores.append(BoardColumn(metric, title, cell, falling=falling))
        return [
            scores[0],
            BoardColumn("groups", "groups", Row.groups, Row.groups_number, falling=True),
            *scores[1:],
            BoardColumn("size", "size", lambda row: row.run.size, lambda row: row.run.parameters),
            BoardColumn("frames", "frames", lambda row: row.run.frames, lambda row: _frames_number(row.run.frames)),
            *(
                BoardColumn(f"cost-{place}", name, partial(Row.cost, name=name, price=price))
                for place, name in enumerate(costs, start=1)
            ),
            BoardColumn("version", "version", lambda row: row.part.version),
        ]


def build_tables(runs: Sequence[BoardRun], only: str = "", price: Price | None = None) -> list[BoardTable]:
    """Return the tables of runs, by benchmark and name; the runs of a table do not depend on the order."""
    comparable: defaultdict[tuple[str, ...], list[tuple[BoardRun, PartScores]]] = defaultdict(list)
    names = {}
    for run in runs:
        for part in run.scores.shown_parts(only):
            names[part.name] = True
            if only in ("", part.name):
                # Of the official release its name is enough; of anything else also the data and the number of items.
                further = [str(sum(part.outcomes.values())), *run.digests(part.tasks)] if part.apart else []
                data, of = " ".join(one.model_dump_json() for one in part.data), " ".join(sorted(part.tasks))
                key = part.benchmark, part.name, part.view, _major(part), data, part.apart, part.leading, of, *further
                comparable[key].append((run, part))
    if only and only not in names:
        raise InputError(f"Expected a task or group of these runs, any of {', '.join(names)}, but got {only}.")
    keys: defaultdict[str, int] = defaultdict(int)
    tables = []
    for _, entries in sorted(comparable.items()):
        name = entries[0][1].name
        keys[name] += 1
        tables.append(BoardTable(f"{name}-{keys[name]}" if keys[name] > 1 else name, entries, price or {}))
    return tables


def _major(part: PartScores) -> str:
    return part.version.partition("-")[0] or NOT_KNOWN


def _ranked(entries: Sequence[tuple[BoardRun, PartScores]]) -> list[Row]:
    rows = [Row(run, part) for run, part in entries]
    spans = [
        (row, Scored(score.value, score.low, score.high))
        for row in rows
        if (score := row.leading) and score.higher_is_better is not None
        if score.value is not None and score.low is not None and score.high is not None
    ]
    better_high = not any(row.leading and row.leading.higher_is_better is False for row in rows)
    standings = rank_scores([span for _, span in spans], better_high)
    for (row, _), standing in zip(spans, standings, strict=True):
        alike = tuple(spans[place][0].run.tag for place in standing.alike)
        rows[rows.index(row)] = replace(row, rank=standing.rank, alike=alike)

    def order(row: Row) -> tuple[float, float, str, int]:
        worst = -inf if better_high else inf
        value = worst if row.leading is None or row.leading.value is None else row.leading.value
        return row.rank or inf, -value if better_high else value, row.run.title, int(row.run.tag)

    return sorted(rows, key=order)


def _published(references: Sequence[ReferencedMetric], leading: str) -> tuple[PublishedRow, ...]:
    """A row for chance, then for people, then for each published model, by the leading score."""
    rows: dict[tuple[str, str, int], dict[str, float]] = {}
    for reference in references:
        for place, (kind, label, value) in enumerate(facts_of(reference)):
            # People come first, and several of a score are several rows.
            key = kind, label, place if kind == "people" else 0
            rows.setdefault(key, {}).setdefault(reference.metric.name, value)
    falling = next((one.metric.higher_is_better for one in references if one.metric.name == leading), True) is not False

    def order(row: PublishedRow) -> tuple[int, float]:
        value = row.values.get(leading, -inf if falling else inf) if row.kind == "published" else 0.0
        return ("chance", "people", "published").index(row.kind), -value if falling else value

    return tuple(sorted((PublishedRow(label, kind, of) for (kind, label, _), of in rows.items()), key=order))


RANKS = (
    "A rank is 1 plus the number of runs that are significantly better: p < 0.05, adjusted by Holm's method for all "
    "pairs of the table. Runs of one rank tie: no test distinguishes them. Runs of two ranks may tie as well."
)
TESTS = (
    "The tests use the intervals alone and not the items, so they distinguish fewer runs than a paired test: for "
    "two runs use lmms-eval-tasks compare."
)
"""How ranks are to be read."""

HOW = "ranks by unpaired tests of the intervals, p < 0.05, Holm's method for all pairs of the table"
"""The same for a table's signature."""


def board_tables(tables: Sequence[BoardTable]) -> list[FittingTable]:
    """Return a table for each of a board's, and one for what is published of the same."""
    return [one for table in tables for one in (_measured(table), _printed_published(table)) if one.rows]


def overview_table(tables: Sequence[BoardTable]) -> FittingTable:
    numbered = {f"({place})": table for place, table in enumerate(tables, start=1)}
    overview = FittingTable("overview: leading scores and ranks", ["run", *numbered])
    for run, places in _overview(tables):
        shown: list[Cell] = []
        for row in places:
            score, rank = (row.leading, row.rank) if row else (None, None)
            value, unit = (score.value, score.unit) if score else (None, "")
            shown.append(Number(value, unit=unit, after=f" (rank {rank})" if rank else "") if row else "")
        overview.add_row(run.title, *shown)
    overview.caption = "\n".join(
        f"{number} {table.name}, {table.columns[0].heading}; {table.about}" for number, table in numbered.items()
    )
    return overview


def _overview(tables: Sequence[BoardTable]) -> Iterator[tuple[BoardRun, list[Row | None]]]:
    runs = {int(row.run.tag): row.run for table in tables for row in table.rows}
    for _, run in sorted(runs.items()):
        yield run, [next((row for row in table.rows if row.run.tag == run.tag), None) for table in tables]


def _measured(table: BoardTable) -> FittingTable:
    headings = ["run", "no.", "rank", *(column.heading for column in table.columns), "ties with"]
    shown = FittingTable(f"{table.name} ({table.about})", headings)
    for row in table.rows:
        cells = (column.cell(row) for column in table.columns)
        shown.add_row(row.run.title, int(row.run.tag), row.rank or "–", *cells, ", ".join(row.alike))
    shown.caption = "\n".join(table.notes)
    methods = dict.fromkeys(row.run.scores.method for row in table.rows)
    shown.signature = "; ".join(filter(None, (table.name, table.about, *methods, HOW)))
    if not table.official:
        shown.warnings.append(f"NOT THE WHOLE OFFICIAL RELEASE: {table.data}.")
    return shown


def _printed_published(table: BoardTable) -> FittingTable:
    columns = [one for one in table.columns if any(one.key in row.values for row in table.published)]
    shown = FittingTable(
        f"{table.name}: published", ["published, not measured here", *(one.heading for one in columns)]
    )
    for row in table.published:
        shown.add_row(row.label, *(Number(row.values[one.key]) if one.key in row.values else "" for one in columns))
    shown.caption = "\n".join(table.sources)
    return shown


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
    rows = list(_overview(tables))
    page = render_page(
        ASSETS / "board.html",
        (ASSETS / "page.css", ASSETS / "board.css"),
        [ASSETS / "board.js"],
        {"percent": lambda share: f"{100 * share:.2f}%"},
        tables=tables,
        overview=rows if len(tables) > 1 else [],
        runs=len(rows),
        filters=list(_filters(tables)),
        chosen=lambda table, row: {name: of(table, row) for name, (_, of) in FILTERS.items()},
        place=_place,
        number=Number,
        ranks=RANKS,
        tests=TESTS,
        not_known=NOT_KNOWN,
    )
    write_file(path, page)


def _filters(tables: Sequence[BoardTable]) -> Iterator[tuple[str, str, list[str]]]:
    """Give the name, label and values of each filter that tells rows apart."""

    def order(value: str) -> tuple[bool, int, float, str]:
        # Sizes by size, numbers by number, other texts by alphabet, and last what is not known.
        number = _frames_number(value)
        size = SIZES.index(value) if value in SIZES else len(SIZES)
        return value == NOT_KNOWN, size, inf if number is None else number, value

    for name, (label, of) in FILTERS.items():
        values = {of(table, row) for table in tables for row in table.rows}
        if len(values) > 1:
            yield name, label, sorted(values, key=order)


def _frames_number(value: str) -> float | None:
    try:
        return float(value.split(" ")[0].rstrip(","))
    except ValueError:
        return None


def _place(value: float, table: BoardTable) -> float:
    low, high = table.axis
    return min(max(0.0, (value - low) / (high - low)), 1.0)
