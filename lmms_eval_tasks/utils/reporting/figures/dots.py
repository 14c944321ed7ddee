"""Dots with their intervals on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.cells import Number
from lmms_eval_tasks.utils.core.tables import FittingTable
from lmms_eval_tasks.utils.reporting.figures.axis import Bounds
from lmms_eval_tasks.utils.reporting.figures.figure import Figure
from lmms_eval_tasks.utils.stats.estimates import Estimate

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.figures.sheet import Frame, Sheet


@dataclass(frozen=True)
class Dot:
    """A line of a dot-and-interval plot."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: str = "run"
    tag: str = ""
    groups: int | None = None

    @classmethod
    def of(cls, label: str, score: Estimate | None, tag: str = "") -> Dot:
        """The line of a run's score."""
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
        """A row for each dot."""
        table = FittingTable(self.caption, ("", "run", "score"), names=2)
        for dot in self.dots:
            named = self.run_named(dot.tag) or ("" if dot.kind == "run" else dot.kind)
            table.add_row(dot.label, named, Number(dot.value, dot.low, dot.high, dot.groups, self.unit))
        return table

    def draw_on(self, sheet: Sheet) -> None:
        """Labels to the left, numbers to the right, the axis below."""
        from lmms_eval_tasks.utils.reporting.figures import sheet as drawing

        numbers = [Number(dot.value, dot.low, dot.high) for dot in self.dots]
        right = max((drawing.measure(number.text, drawing.SMALL) for number in numbers), default=0.0)
        left = min(
            max((drawing.measure(drawing.one_line(dot.label), drawing.BASE) for dot in self.dots), default=0), 92
        )
        begin = left + drawing.BADGE / 2 + 3
        width = drawing.WIDTH - begin - right - drawing.BADGE / 2 - 4
        height = drawing.LINE * len(self.dots)
        labelled = self.chance is not None and all(dot.kind != "chance" for dot in self.dots)
        above_frame = sheet.room(drawing.LINE * 0.8) + drawing.LINE * 0.4 if labelled else 0.0
        frame = sheet.frame(begin, width, height, self.bounds, (max(len(self.dots), 1), 0.0))
        if self.chance is not None:
            frame.rule(x=self.chance)
            if labelled:
                at, _ = frame.place(self.chance, 0.0)
                sheet.write("chance", at, above_frame, drawing.SMALL, "muted", "center")
        above = None
        for place, (dot, number) in enumerate(zip(self.dots, numbers, strict=True)):
            middle = frame.top + drawing.LINE * (place + 0.5)
            ink = "muted" if dot.kind in ("published", "chance") else "ink"
            if not (self.grouped and dot.label == above):
                sheet.write(dot.label, left, middle, ink=ink, align="right", most=left)
            above = dot.label
            sheet.line((begin, begin + width), (middle, middle), "line", 0.4)
            sheet.write(number.text, drawing.WIDTH, middle, drawing.SMALL, ink, "right")
            if dot.value is not None:
                _draw_dot(frame, dot, dot.value, place + 0.5, f"{dot.label}: {number.text}")
        frame.label_x(self.axis)


def _draw_dot(frame: Frame, dot: Dot, value: float, at: float, title: str) -> None:
    from lmms_eval_tasks.utils.reporting.figures.sheet import BAR, DIAMOND, HOLLOW, SQUARE
    from lmms_eval_tasks.utils.reporting.palette import run_inks

    sheet, where = frame.sheet, frame.places
    low, high = frame.x
    inside = min(max(value, low), high)
    if dot.low is not None and dot.high is not None:
        ends = (max(dot.low, low), min(dot.high, high))
        ink = run_inks(dot.tag)[0] if dot.kind == "run" else "ink"
        sheet.line(ends, (at, at), ink, 2.6, where, alpha=0.45)
    if dot.kind == "run" and dot.tag:
        sheet.badge(dot.tag, inside, at, title, frame)
        return
    shape, size, ink = {
        "people": (DIAMOND, 4.6, "ink"),
        "published": (HOLLOW, 4.4, "muted"),
        "chance": (BAR, 7.0, "muted"),
        "mean": (SQUARE, 5.0, "ink"),
    }.get(dot.kind, (DIAMOND, 4.6, "accent"))
    sheet.marks([inside], [at], shape, ink, size, [title], where)
