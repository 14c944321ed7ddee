"""Numbers by row and column, in cells coloured by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from lmms_eval_tasks.utils.core.table import FittingTable, Number
from lmms_eval_tasks.utils.reporting.figure import Bounds, Figure, fit_axis
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.columns import RunRecords
    from lmms_eval_tasks.utils.reporting.figure import Sheet


FULLEST = 0.52
"""How much of the accent the fullest cell has: ink is read on it with a contrast of 4.5 on a light and a dark page."""
FAINTEST = 0.03


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
        """The scores with their intervals, and how many groups each stands on."""
        table = FittingTable(self.caption, ("", *map(self._named, self.columns)))
        for row in self.rows:
            scores = (self.cells.get((row, column)) for column in self.columns)
            numbers = (Number(one.value, one.low, one.high, one.groups, self.unit) if one else "" for one in scores)
            table.add_row(row, *numbers)
        return table

    def draw_on(self, sheet: Sheet) -> None:
        """Cells in bands of as many columns as fit."""
        low, high = self.bounds
        if not (isfinite(low) and isfinite(high)):
            low, high = fit_axis(self.bounds, [one.value for one in self.cells.values() if one])
        shown = {
            key: _Shown(Number(one.value).text, (one.value - low) / (high - low), f"{one.groups:,}", title=Number(
                one.value, one.low, one.high).text)
            for key, one in self.cells.items()
            if one
        }  # fmt: skip
        _draw_grid(sheet, "", self.rows, self.columns, shown, self.tags)

    def _named(self, name: str) -> str:
        tag = self.tags.get(name, "")
        return self.run_named(tag) if tag == name else f"{tag} {name}" if tag else name


@dataclass(frozen=True)
class CountTable(Figure):
    """Counts of a run by row and column, each cell coloured by its share of its row; the diagonal is framed."""

    corner: str
    rows: Mapping[str, Mapping[str, int]]
    columns: Sequence[str]

    def table(self) -> FittingTable:
        """The counts, and the sum of each row."""
        table = FittingTable(self.caption, (self.corner, *self.columns, "all"))
        for row, counts in self.rows.items():
            table.add_row(row, *(counts.get(column, 0) for column in self.columns), sum(counts.values()))
        return table

    def draw_on(self, sheet: Sheet) -> None:
        """Cells, and the sum of each row."""
        shown = {}
        for row, counts in self.rows.items():
            total = sum(counts.values())
            for column in self.columns:
                count = counts.get(column, 0)
                share = count / total if total else 0.0
                shown[row, column] = _Shown(f"{count:,}" if count else "·", share, framed=row == column)
            shown[row, "all"] = _Shown(f"{total:,}", None)
        _draw_grid(sheet, self.corner, list(self.rows), [*self.columns, "all"], shown, {})


class _Shown(NamedTuple):
    """A cell: its text, how full its colour is, a smaller text below, whether it is framed, and its tooltip."""

    text: str
    share: float | None
    below: str = ""
    framed: bool = False
    title: str = ""


def _draw_grid(
    sheet: Sheet,
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], _Shown],
    tags: Mapping[str, str],
) -> None:
    from lmms_eval_tasks.utils.reporting import figure as drawing

    size, small, line = drawing.BASE, drawing.SMALL, drawing.LINE
    names = [drawing.one_line(row) for row in (*rows, corner)]
    left = min(max(drawing.measure(name, size) for name in names), 84.0) + 4
    widest = max((drawing.measure(text, size) for one in cells.values() for text in (one.text, one.below)), default=0)
    words = max(
        (drawing.measure(word, small) for name in columns for word in drawing.one_line(name).split()), default=0.0
    )
    width = max(widest + 4, min(words + 3, 46.0), 20.0)
    beside = max(int((drawing.WIDTH - left) // width), 1)
    bands = -(-len(columns) // beside)
    beside = -(-len(columns) // bands) if columns else 1
    width = min((drawing.WIDTH - left) / beside, 46.0)
    tall = any(one.below for one in cells.values())
    height = 2 * line if tall else 1.5 * line
    for band in range(bands):
        part = columns[band * beside : (band + 1) * beside]
        heads = {column: drawing.wrap(column, small, width - 2, 3) for column in part}
        lines = max(map(len, heads.values()))
        top = sheet.room(lines * small * 1.25 + drawing.GAP)
        if corner:
            sheet.write(corner, 0, top + line / 2, small, "muted", most=left - 2)
        for place, column in enumerate(part):
            middle = left + (place + 0.5) * width
            if column in tags:
                sheet.badge(tags[column], middle, top + line / 2)
                continue
            for at, text in enumerate(heads[column]):
                down = top + small * (0.6 + 1.25 * (at + lines - len(heads[column])))
                sheet.write(text, middle, down, small, "muted", "center")
        for row in rows:
            top = sheet.room(height)
            sheet.write(row, 0, top + height / 2, size, most=left - 3)
            for place, column in enumerate(part):
                _draw_cell(sheet, cells.get((row, column)), left + place * width, top, width, height)
        sheet.room(drawing.GAP if band + 1 < bands else 0)


def _draw_cell(sheet: Sheet, cell: _Shown | None, left: float, top: float, width: float, height: float) -> None:
    from lmms_eval_tasks.utils.reporting.figure import BASE, LINE, SMALL

    middle, across = top + height / 2, left + width / 2
    if cell is None:
        sheet.write("–", across, middle, BASE, "muted", "center")
        return
    if cell.share is not None:
        full = FAINTEST + (FULLEST - FAINTEST) * min(max(cell.share, 0.0), 1.0)
        sheet.box(left + 0.5, top + 0.5, width - 1, height - 1, "accent", full, cell.title)
    if cell.framed:
        sheet.outline(left + 1, top + 1, width - 2, height - 2, "ink")
    ink = "ink" if cell.share is not None else "muted"
    sheet.write(cell.text, across, middle - LINE / 2.4 if cell.below else middle, BASE, ink, "center")
    if cell.below:
        sheet.write(cell.below, across, middle + LINE / 2.2, SMALL, "ink", "center")


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


def count_table(
    run: RunRecords, caption: str, corner: str, rows: Mapping[str, Mapping[str, int]], columns: Sequence[str]
) -> CountTable:
    """Counts of a run by row and column; `corner` is what rows and columns are."""
    return CountTable(caption, corner, rows, columns, name=run.name, tag=run.tag)


PARTS = {
    **dict.fromkeys(("correct", "both right", "right, supported", "forward"), "correct"),
    **dict.fromkeys(("one right", "right, not supported"), "half-correct"),
    **dict.fromkeys(("wrong", "none right", "wrong, not supported", "backward"), "wrong"),
    "wrong, supported": "half-wrong",
    **dict.fromkeys(("unparsed", "tie"), "unparsed"),
    "non-finite": "ink",
}
"""Parts that have colours of their own."""
OTHERS = ("unscored", "line", "muted")
"""Colours of the others, in turn."""


@dataclass(frozen=True)
class SharePlot(Figure):
    """Shares of a whole as stacked bars with their counts, one a run."""

    runs: Sequence[tuple[str, str]]
    counts: Sequence[Mapping[str, int]]
    parts: Sequence[str]

    def table(self) -> FittingTable:
        """The count of each part, by run."""
        table = FittingTable(self.caption, ("", "run", *self.parts), names=2)
        for (tag, name), counts in zip(self.runs, self.counts, strict=True):
            table.add_row(name, tag, *(counts.get(part, 0) for part in self.parts))
        return table

    def draw_on(self, sheet: Sheet) -> None:
        """Each run's name, its bar, and below it the parts in the bar's order."""
        from lmms_eval_tasks.utils.reporting import figure as drawing

        inks = self._inks()
        for (tag, name), counts in zip(self.runs, self.counts, strict=True):
            middle = sheet.room(drawing.LINE + 1) + drawing.LINE / 2
            if tag:
                sheet.badge(tag, drawing.BADGE / 2, middle)
            left = drawing.BADGE + 3 if tag else 0.0
            sheet.write(name, left, middle, most=drawing.WIDTH - left)
            shown = [(part, counts.get(part, 0)) for part in self.parts if counts.get(part, 0)]
            total, at = sum(count for _, count in shown), 0.0
            top = sheet.room(9.0)
            if not total:
                sheet.box(0, top, drawing.WIDTH, 8.0, "faint")
            for part, count in shown:
                width = drawing.WIDTH * count / total
                sheet.box(at, top, max(width - 0.6, 0.4), 8.0, inks[part], title=f"{part}: {count:,} of {total:,}")
                at += width
            self._write_amounts(sheet, shown, inks)
            sheet.room(drawing.GAP)

    def _inks(self) -> dict[str, str]:
        others = [part for part in self.parts if part not in PARTS]
        return {**PARTS, **{part: OTHERS[place % len(OTHERS)] for place, part in enumerate(others)}}

    def _write_amounts(self, sheet: Sheet, shown: Sequence[tuple[str, int]], inks: Mapping[str, str]) -> None:
        from lmms_eval_tasks.utils.reporting import figure as drawing

        size, at = drawing.SMALL, 0.0
        middle = sheet.room(drawing.LINE - 1) + drawing.LINE / 2
        if not shown:
            sheet.write("none", 0, middle, size, "muted")
        for part, count in shown:
            text = drawing.cut(f"{count:,} {part}", size, drawing.WIDTH - 8)
            width = drawing.measure(text, size) + 8
            if at and at + width > drawing.WIDTH:
                at, middle = 0.0, sheet.room(drawing.LINE - 1) + drawing.LINE / 2
            sheet.box(at, middle - 2.5, 5, 5, inks[part])
            sheet.write(text, at + 7, middle, size)
            at += width + 7


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
