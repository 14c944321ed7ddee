"""Dots with their intervals on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.table import FittingTable, Number
from lmms_eval_tasks.utils.reporting.figure import Bounds, Figure, tick_text
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.figure import Frame, Sheet


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
        from lmms_eval_tasks.utils.reporting import figure as drawing

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
    from lmms_eval_tasks.utils.reporting.figure import BAR, DIAMOND, HOLLOW, SQUARE
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


HEIGHT = 128.0
"""Of the axes, in points."""


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
    """Points on two axes; runs are drawn last, over published models."""

    points: Sequence[Point]
    x: tuple[str, Bounds]
    y: tuple[str, Bounds]
    rules: tuple[float, float]

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The runs, whose points have their numbers alone."""
        return tuple(point.tag for point in self.points if point.tag)

    def table(self) -> FittingTable:
        """A row for each point."""
        table = FittingTable(self.caption, ("", "run", self.x[0], self.y[0]), names=2)
        for point in self.points:
            named = point.tag or ("" if point.kind == "run" else point.kind)
            table.add_row(point.label, named, Number(point.x), Number(point.y))
        return table

    def draw_on(self, sheet: Sheet) -> None:
        """Axes with rules, then published models, people and runs."""
        from lmms_eval_tasks.utils.reporting.figure import DIAMOND, HOLLOW, SMALL

        frame = _axes(sheet, self.x[1], self.y)
        frame.rule(*self.rules)
        published = [point for point in self.points if point.kind == "published"]
        if published:
            xs, ys = [point.x for point in published], [point.y for point in published]
            sheet.marks(xs, ys, HOLLOW, "muted", 4.4, list(map(_described, published)), frame.places)
        for point in self.points:
            if point.kind == "people":
                sheet.marks([point.x], [point.y], DIAMOND, "ink", 4.6, [_described(point)], frame.places)
                at, up = frame.place(point.x, point.y)
                if at > frame.left + frame.width / 2:
                    sheet.write(point.label, at - 5, up, SMALL, align="right", most=at - frame.left - 5)
                else:
                    sheet.write(point.label, at + 5, up, SMALL, most=frame.left + frame.width - at - 5)
        for point in self.points:
            if point.kind == "run":
                sheet.badge(point.tag, point.x, point.y, _described(point), frame)
        frame.label_x(self.x[0])


def _described(point: Point) -> str:
    return f"{point.label}: {Number(point.x).text}, {Number(point.y).text}"


@dataclass(frozen=True)
class Place:
    """A score against a quantity."""

    label: str
    x: float
    score: Estimate
    tag: str = ""


@dataclass(frozen=True)
class Line:
    """Places that are joined in the order of the quantity."""

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
        """A row for each place."""
        table = FittingTable(self.caption, ("", "run", self.x, self.y[0]), names=2)
        for line in self.lines:
            for place in sorted(line.places, key=lambda place: place.x):
                table.add_row(
                    line.label or place.label,
                    place.tag or line.tag or self.tag,
                    Number(place.x, digits=0 if place.x == round(place.x) else 2),
                    self._number(place.score),
                )
        return table

    def _number(self, score: Estimate) -> Number:
        return Number(score.value, score.low, score.high, score.groups, self.unit, self.digits)

    def draw_on(self, sheet: Sheet) -> None:
        """The lines' names where there are several, then axes and lines."""
        if len(self.lines) > 1:
            self._name_lines(sheet)
        along = [place.x for line in self.lines for place in line.places] or [0.0, 1.0]
        beside = (max(along) - min(along)) / 25 or 1.0
        frame = _axes(sheet, (min(along) - beside, max(along) + beside), self.y)
        if self.rule is not None:
            frame.rule(y=self.rule)
        # All bars lie below all lines.
        for line in self.lines:
            self._draw_bars(frame, line)
        for line in self.lines:
            self._draw_line(frame, line)
        frame.label_x(self.x)

    def _name_lines(self, sheet: Sheet) -> None:
        from lmms_eval_tasks.utils.reporting import figure as drawing

        at, middle = 0.0, sheet.room(drawing.LINE) + drawing.LINE / 2
        for line in self.lines:
            text = drawing.cut(line.label, drawing.SMALL, drawing.WIDTH - 20)
            width = 20 + drawing.measure(text, drawing.SMALL)
            if at and at + width > drawing.WIDTH:
                at, middle = 0.0, sheet.room(drawing.LINE) + drawing.LINE / 2
            _stroke(sheet, line, [at, at + 16], [middle, middle])
            if line.tag and not self.tag:
                sheet.badge(line.tag, at + 8, middle)
            sheet.write(text, at + 20, middle, drawing.SMALL)
            at += width + 8
        sheet.room(drawing.GAP)

    def _draw_bars(self, frame: Frame, line: Line) -> None:
        from lmms_eval_tasks.utils.reporting.palette import run_inks

        for place in line.places:
            ink = run_inks(place.tag or line.tag)[0]
            ends = max(place.score.low, frame.y[0]), min(place.score.high, frame.y[1])
            width = 2.6 if len(self.lines) == 1 else 1.2
            frame.sheet.line((place.x, place.x), ends, ink, width, frame.places, alpha=0.45)

    def _draw_line(self, frame: Frame, line: Line) -> None:
        from lmms_eval_tasks.utils.reporting.figure import HOLLOW, ROUND
        from lmms_eval_tasks.utils.reporting.palette import run_inks

        sheet, where = frame.sheet, frame.places
        places = sorted(line.places, key=lambda place: place.x)
        xs, ys = [place.x for place in places], [place.score.value for place in places]
        _stroke(sheet, line, xs, ys, where)
        titles = [
            ": ".join(
                filter(None, (line.label or place.label, f"{self.x} {place.x:g}", self._number(place.score).text))
            )
            for place in places
        ]
        for place, title in zip(places, titles, strict=True):
            if place.tag:
                sheet.badge(place.tag, place.x, place.score.value, title, frame)
        if places and not places[0].tag:
            shape = HOLLOW if line.dashed else ROUND
            sheet.marks(xs, ys, shape, run_inks(line.tag)[0], 3.6, titles, where)
        if places and line.tag and not self.tag:
            # The number tells the line, also without its colour.
            sheet.badge(line.tag, xs[-1], ys[-1], titles[-1], frame)


def _stroke(sheet: Sheet, line: Line, xs: Sequence[float], ys: Sequence[float], where: object = None) -> None:
    from lmms_eval_tasks.utils.reporting.palette import run_inks

    how = {"dashes": (4, 2)} if line.dashed else {}
    ink = run_inks(line.tag)[0] if line.tag else "muted"
    sheet.line(xs, ys, ink, 1.0, where, **how)


def _axes(sheet: Sheet, x: Bounds, y: tuple[str, Bounds]) -> Frame:
    """A frame with both axes' ends, and the numbers and the name of the vertical one."""
    from lmms_eval_tasks.utils.reporting import figure as drawing

    numbers = [tick_text(tick) for tick in drawing.ticks(y[1])]
    left = drawing.SMALL + 7 + max((drawing.measure(number, drawing.SMALL) for number in numbers), default=0.0)
    sheet.room(drawing.GAP)
    frame = sheet.frame(left, drawing.WIDTH - left - 6, HEIGHT, x, y[1])
    sheet.outline(frame.left, frame.top, frame.width, frame.height, "line")
    frame.label_y(y[0])
    return frame
