"""The base of figures, with caption, table and one drawing, and the sheet with axes on which matplotlib draws them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.columns import RunRecords

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
class Dot:
    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: str = "run"
    tag: str = ""
    groups: int | None = None

    @classmethod
    def of(cls, label: str, score: Estimate | None, tag: str = "") -> Dot:
        if score is None:
            return cls(label, None, tag=tag)
        low, high = (score.low, score.high) if score.low < score.high else (None, None)
        return cls(label, score.value, low, high, tag=tag, groups=score.groups)


@dataclass(frozen=True)
class DotPlot(Figure):
    """Dots with their intervals on one axis, a line each from top to bottom."""

    dots: Sequence[Dot]
    bounds: Bounds
    axis: str = ""
    chance: float | None = None
    unit: str = "%"
    grouped: bool = False

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs, where labels are parts of the items."""
        return tuple(dict.fromkeys(dot.tag for dot in self.dots if dot.tag)) if self.grouped else ()

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, ("", "run", "score"), names=2)
        for dot in self.dots:
            named = self.run_named(dot.tag) or ("" if dot.kind == "run" else dot.kind)
            table.add_row(dot.label, named, Number(dot.value, dot.low, dot.high, dot.groups, self.unit))
        return table


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot; `kind` and `tag` as for `Dot`."""

    label: str
    x: float
    y: float
    kind: str = "run"
    tag: str = ""


@dataclass(frozen=True)
class ScatterPlot(Figure):
    """Points on two axes, each with its title and ends; runs are drawn last, over published models."""

    points: Sequence[Point]
    x: tuple[str, Bounds]
    y: tuple[str, Bounds]
    rules: tuple[float, float]

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs, whose points have their numbers alone."""
        return tuple(point.tag for point in self.points if point.tag)

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, ("", "run", self.x[0], self.y[0]), names=2)
        for point in self.points:
            named = point.tag or ("" if point.kind == "run" else point.kind)
            table.add_row(point.label, named, Number(point.x), Number(point.y))
        return table


@dataclass(frozen=True)
class Place:
    label: str
    x: float
    score: Estimate
    tag: str = ""


@dataclass(frozen=True)
class Line:
    label: str
    places: Sequence[Place]
    tag: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class LinePlot(Figure):
    """Scores with their intervals against a quantity."""

    lines: Sequence[Line]
    x: str
    y: tuple[str, Bounds]
    rule: float | None = None
    unit: str = "%"
    digits: int = 1

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, ("", "run", self.x, self.y[0]), names=2)
        for line in self.lines:
            for place in sorted(line.places, key=lambda place: place.x):
                along = Number(place.x, digits=0 if place.x == round(place.x) else 2)
                named = place.tag or line.tag or self.tag
                table.add_row(line.label or place.label, named, along, self.number(place.score))
        return table

    def number(self, score: Estimate) -> Number:
        return Number(score.value, score.low, score.high, score.groups, self.unit, self.digits)


@dataclass(frozen=True)
class HeatMap(Figure):
    """A score by two strata: cells coloured by it."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Estimate | None]
    bounds: Bounds
    tags: Mapping[str, str] = field(default_factory=dict)
    unit: str = "%"

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs, where columns have their numbers alone."""
        return tuple(tag for column, tag in self.tags.items() if column == tag)

    def table(self) -> FittingTable:
        named = [
            self.run_named(tag) if (tag := self.tags.get(name, "")) == name else f"{tag} {name}".strip()
            for name in self.columns
        ]
        table = FittingTable(self.caption, ("", *named))
        for row in self.rows:
            scores = (self.cells.get((row, column)) for column in self.columns)
            numbers = (Number(one.value, one.low, one.high, one.groups, self.unit) if one else "" for one in scores)
            table.add_row(row, *numbers)
        return table


def heat_map(
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
) -> HeatMap:
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
    return HeatMap(caption, rows, columns, cells, bounds, tags or {}, unit, name=named, tag=tag)


@dataclass(frozen=True)
class CountTable(Figure):
    """Counts of a run by row and column, each cell coloured by its share of its row; the diagonal is framed."""

    corner: str
    rows: Mapping[str, Mapping[str, int]]
    columns: Sequence[str]

    def table(self) -> FittingTable:
        table = FittingTable(self.caption, (self.corner, *self.columns, "all"))
        for row, counts in self.rows.items():
            table.add_row(row, *(counts.get(column, 0) for column in self.columns), sum(counts.values()))
        return table


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
