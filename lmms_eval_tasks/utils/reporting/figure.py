"""What each figure of a report shows, as numbers with a caption, and the table of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.reporting.columns import RunRecords, score_number
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate

Bounds = tuple[float, float]


def fit_axis(bounds: Bounds, values: Sequence[float]) -> Bounds:
    """Return the ends of the axis of a score with some bounds, which hold all values."""
    low, high = bounds
    if not all(map(isfinite, bounds)):
        least, most = min(values, default=0.0), max(values, default=1.0)
        beside = 0.05 * (most - least) or 0.05 * abs(most) or 1.0
        return max(least - beside, low), min(most + beside, high)
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), high)
    return (-reach, reach) if low < 0 else bounds


@dataclass(frozen=True)
class Figure(ABC):
    """A figure of a report.

    Attributes:
        caption: What it shows, for those who do not see it, and for its table.
        name: Shown above the figure, and unlike that of the other figures of its panel, such as a run's name.
        tag: The number of the run that it is of, shown before the name.
        run_names: Number to name of the runs of which it shows the number alone; they stand below it.
        warning: What has to be known before its numbers are read, such as that they are of sample data; below it, too.
    """

    caption: str
    name: str = field(default="", kw_only=True)
    tag: str = field(default="", kw_only=True)
    run_names: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    warning: str = field(default="", kw_only=True)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The numbers of the runs that it does not name otherwise."""
        return ()

    def run_named(self, tag: str) -> str:
        """Return a run's number, with its name where the figure knows it."""
        return f"{tag} {self.run_names[tag]}" if tag in self.run_names else tag

    @abstractmethod
    def table(self) -> FittingTable:
        """Return the numbers that it shows."""


@dataclass(frozen=True)
class Datum:
    """A score of a run, or of what runs are compared with, and its place along another quantity where there is one."""

    label: str
    score: Number
    kind: str = "run"
    tag: str = ""
    x: float = 0.0

    @property
    def kind_named(self) -> str:
        """What it is of, where it is of no run."""
        return "" if self.kind == "run" else self.kind

    @property
    def ends(self) -> list[float]:
        """What an axis has to hold."""
        return [end for end in (self.score.low, self.score.value, self.score.high) if end is not None]


@dataclass(frozen=True)
class DotPlot(Figure):
    """Marks with their intervals on one axis, a line each from top to bottom."""

    marks: Sequence[Datum]
    bounds: Bounds
    axis: str = ""
    chance: float | None = None
    grouped: bool = False

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs, where labels are parts of the items."""
        return tuple(dict.fromkeys(mark.tag for mark in self.marks if mark.tag)) if self.grouped else ()

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, ("", "run", "score"), names=2)
        for mark in self.marks:
            table.add_row(mark.label, self.run_named(mark.tag) or mark.kind_named, mark.score)
        return table


@dataclass(frozen=True)
class Line:
    """Marks from left to right with a line through them; or of anything, where they are not `joined`."""

    label: str
    marks: Sequence[Datum]
    tag: str = ""
    dashed: bool = False
    joined: bool = True

    def place(self, mark: Datum) -> Number:
        """The place of a mark, which is a score itself where marks are not joined, else such as a number of steps."""
        return Number(mark.x, digits=0 if mark.x.is_integer() else 2) if self.joined else Number(mark.x)


@dataclass(frozen=True)
class LinePlot(Figure):
    """Lines or single marks on two axes, each with its title and ends, and rules across at values of x and of y."""

    lines: Sequence[Line]
    x: tuple[str, Bounds]
    y: tuple[str, Bounds]
    rules: tuple[float | None, float | None] = (None, None)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs of single marks, which have their numbers alone."""
        return tuple(mark.tag for line in self.lines if not line.joined for mark in line.marks if mark.tag)

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, ("", "run", self.x[0], self.y[0]), names=2)
        for line in self.lines:
            for mark in line.marks:
                named = mark.tag or line.tag or self.tag or mark.kind_named
                table.add_row(line.label or mark.label, named, line.place(mark), mark.score)
        return table


def line_plot(
    caption: str,
    lines: Sequence[Line],
    x: str,
    y: tuple[str, Bounds],
    rule: float | None = None,
    run: RunRecords | None = None,
    name: str = "",
) -> LinePlot:
    """Scores with their intervals against a quantity, on axes that hold all of them, of a run or with another name."""
    marks = [mark for line in lines for mark in line.marks]
    along = [mark.x for mark in marks] or [0.0, 1.0]
    beside = (max(along) - min(along)) / 25 or 1.0
    title, bounds = y
    ends = [end for mark in marks for end in mark.ends] + ([] if rule is None else [rule])
    across, up = (x, (min(along) - beside, max(along) + beside)), (title, fit_axis(bounds, ends))
    named, tag = (run.name, run.tag) if run else (name, "")
    return LinePlot(caption, lines, across, up, (None, rule), name=named, tag=tag)


@dataclass(frozen=True)
class Grid(Figure):
    """Scores, or counts with the diagonal framed, by row and column; `shares` has the share of the fullest colour of
    each cell that is coloured."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Number | int]
    shares: Mapping[tuple[str, str], float]
    tags: Mapping[str, str] = field(default_factory=dict)
    corner: str = ""

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs, where columns have their numbers alone."""
        return tuple(tag for column, tag in self.tags.items() if column == tag)

    def table(self) -> FittingTable:
        named = [
            self.run_named(tag) if (tag := self.tags.get(name, "")) == name else f"{tag} {name}".strip()
            for name in self.columns
        ]
        table = FittingTable(self.caption, (self.corner, *named))
        for row in self.rows:
            table.add_row(row, *(self.cells.get((row, column), "") for column in self.columns))
        return table


def heat_map(  # noqa: PLR0913
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Estimate | None],
    bounds: Bounds,
    run: RunRecords | None = None,
    *,
    tags: Mapping[str, str] | None = None,
    name: str = "",
    unit: str = "%",
) -> Grid:
    """A score by two strata, in cells that are coloured by it.

    Args:
        caption: What it shows, for those who do not see it.
        rows: Names of the rows.
        columns: Names of the columns.
        cells: Row and column to the score there, as `RunRecords.estimate` gives it; a cell also shows how many groups
            the score stands on. One that is missing or None is empty.
        bounds: The values of the faintest and of the fullest colour, in the score's unit; where one is infinite, the
            scores' own range is taken.
        run: The run that it is of, whose number and name stand above; None where it is of several.
        tags: Names of columns that are runs, to the runs' numbers.
        name: What stands above it where it is of no run.
        unit: Of the scores.

    Returns:
        The figure, for a `Panel`.
    """
    named, tag = (run.name, run.tag) if run else (name, "")
    known = {key: score for key, score in cells.items() if score}
    numbers = {key: score_number(score, unit) for key, score in known.items()}
    if not all(map(isfinite, bounds)):
        bounds = fit_axis(bounds, [score.value for score in known.values()])
    low, high = bounds
    shares = {key: min(max((score.value - low) / (high - low), 0.0), 1.0) for key, score in known.items()}
    return Grid(caption, rows, columns, numbers, shares, tags or {}, name=named, tag=tag)


def count_table(
    caption: str, corner: str, run: RunRecords, counts: Mapping[str, Mapping[str, int]], columns: Sequence[str]
) -> Grid:
    """Counts of a run by row and column, and the sum of each row."""
    cells = {(row, column): given.get(column, 0) for row, given in counts.items() for column in columns}
    totals = {row: sum(given.values()) for row, given in counts.items()}
    shares = {(row, column): count / (totals[row] or 1) for (row, column), count in cells.items()}
    cells |= {(row, "all"): total for row, total in totals.items()}
    return Grid(caption, list(counts), [*columns, "all"], cells, shares, corner=corner, name=run.name, tag=run.tag)


@dataclass(frozen=True)
class SharePlot(Figure):
    """Shares of a whole as stacked bars with their counts, one a run."""

    runs: Sequence[tuple[str, str]]
    counts: Sequence[Mapping[str, int]]
    parts: Sequence[str]

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, ("", "run", *self.parts), names=2)
        for (tag, name), counts in zip(self.runs, self.counts, strict=True):
            table.add_row(name, tag, *(counts.get(part, 0) for part in self.parts))
        return table


def share_plot(
    caption: str, runs: Sequence[RunRecords], counts: Sequence[Mapping[str, int]], parts: Sequence[str]
) -> SharePlot:
    """Shares of a whole as stacked bars, one a run, with their counts, which stand in the order of the runs.

    Args:
        caption: What is shown, for those who do not see the figure.
        runs: The runs, a bar each.
        counts: Part to its count, for each run.
        parts: Names of a bar's parts in their order. Outcomes (``correct``, ``wrong``, ``unparsed``, ``unscored``) and
            ``both right``, ``one right``, ``none right`` have colours of their own; a part of another name is grey.

    Raises:
        ValueError: where there are not as many counts as runs.
    """
    if len(runs) != len(counts):
        raise ValueError(f"Expected counts for each of {len(runs)} runs, but got {len(counts)}.")
    return SharePlot(caption, [(run.tag, run.name) for run in runs], counts, parts)
