"""Shares of a whole as stacked bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.tables import FittingTable
from lmms_eval_tasks.utils.reporting.figures.figure import Figure

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.figures.sheet import Sheet
    from lmms_eval_tasks.utils.reporting.run_records import RunRecords

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
        from lmms_eval_tasks.utils.reporting.figures import sheet as drawing

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
        from lmms_eval_tasks.utils.reporting.figures import sheet as drawing

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
