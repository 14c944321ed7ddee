"""The ends of axes, and their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from matplotlib.artist import Artist
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D, Transform

from lmms_eval_tasks.utils.core.table import FittingTable
from lmms_eval_tasks.utils.core.text import printable
from lmms_eval_tasks.utils.reporting.palette import INKS, run_inks

Bounds = tuple[float, float]


def fit_axis(bounds: Bounds, values: Sequence[float]) -> Bounds:
    """The axis of a score with some bounds: from one to the other."""
    low, high = bounds
    if not all(map(isfinite, bounds)):
        least, most = min(values, default=0.0), max(values, default=1.0)
        beside = 0.05 * (most - least) or 0.05 * abs(most) or 1.0
        return max(least - beside, low), min(most + beside, high)
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), high)
    return (-reach, reach) if low < 0 else bounds


def tick_text(tick: float) -> str:
    """A number of an axis."""
    return f"{tick:,.0f}" if abs(tick) >= 10_000 else f"{tick:g}"


@dataclass(frozen=True)
class Figure(ABC):
    """A figure of a report.

    Attributes:
        caption: What it shows, for those who do not see it, and for its table.
        name: What tells it apart from the other figures of its panel, such as a run's name; it stands above the figure.
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
        """A run's number, with its name where the figure knows it."""
        return f"{tag} {self.run_names[tag]}" if tag in self.run_names else tag

    @abstractmethod
    def table(self) -> FittingTable:
        """The numbers that it shows."""

    @abstractmethod
    def draw_on(self, sheet: Sheet) -> None:
        """Draw it below what the sheet has."""

    def draw(self) -> Sheet:
        """Its drawing."""

        sheet = Sheet(self.name, self.tag)
        self.draw_on(sheet)
        sheet.end(self.run_names, self.warning)
        return sheet


WIDTH = 234.0
"""Points: 3.25 inches, a column of most conferences' papers."""
BASE, SMALL = 7.0, 6.0
"""Sizes of letters, in points."""
LINE = 10.0
"""Height of a line of letters, in points."""
GAP = 4.0
FAMILY = "DejaVu Sans"
"""Comes with matplotlib, so that every machine draws alike."""
SET_KIND = "set-kind"
"""Name of the line that says of what kind of set a figure is, which a page shows in saved figures alone."""
BADGE = 8.6
"""Width of a run's mark, in points."""
Align = Literal["left", "center", "right"]
ROUND, HOLLOW, DIAMOND, SQUARE, BAR = "o", "o ", "D", "s", "|"


class Sheet:
    """A sheet of some height, which grows with what is drawn."""

    def __init__(self, name: str = "", tag: str = "") -> None:
        """Make an empty sheet, below the name of what it is of and a run's number."""
        self.height = 1.0
        self.titles: dict[str, list[str]] = {}
        self._canvas = Canvas(figsize=(WIDTH / 72, 1), dpi=72, facecolor=INKS["surface"].light)
        self._from_top = Affine2D()
        self.places: Transform = self._from_top + Affine2D().scale(1 / 72) + self._canvas.dpi_scale_trans
        if name:
            self._head(tag, name)

    def finish(self) -> Canvas:
        """The drawing as matplotlib has it, as high as what was drawn."""
        self._canvas.set_size_inches(WIDTH / 72, (self.height + 1.0) / 72)
        self._from_top.clear().scale(1, -1).translate(0, self.height + 1.0)
        return self._canvas

    def room(self, height: float) -> float:
        """Take some height below what was drawn; where it begins."""
        top = self.height
        self.height += height
        return top

    def frame(self, left: float, width: float, height: float, x: Bounds, y: Bounds, top: float | None = None) -> Frame:
        """A rectangle, below what was drawn or at `top`, in which the axes' ends are `x` and `y`."""
        top = self.room(height) if top is None else top
        return Frame(self, left, top, width, height, x, y)

    def add(self, artist: Artist, titles: Sequence[str] = ()) -> None:
        """Put something on the sheet; `titles` say what its marks are."""
        if titles:
            name = f"titled-{len(self.titles)}"
            artist.set_gid(name)
            self.titles[name] = list(titles)
        # What is drawn later lies above, whatever it is: a number belongs to the mark below it.
        artist.set_zorder(1)
        self._canvas.add_artist(artist)

    def write(
        self,
        text: str,
        x: float,
        y: float,
        size: float = BASE,
        ink: str = "ink",
        align: Align = "left",
        most: float | None = None,
        bold: bool = False,
        rotation: float = 0.0,
        name: str = "",
    ) -> None:
        """A line of text with its middle at the height `y`, cut with an ellipsis where it is wider than `most`."""
        shown = cut(text, size, most, bold) if most is not None else one_line(text)
        down = 0.36 * size
        at = (x + down, y) if rotation else (x, y + down)
        self.add(
            Text(
                *at,
                shown,
                fontproperties=_font(size, bold),
                color=INKS[ink].light,
                horizontalalignment=align,
                verticalalignment="baseline",
                rotation=rotation,
                rotation_mode="anchor",
                parse_math=False,
                transform=self.places,
                gid=name or None,
            )
        )

    def line(
        self, xs: Sequence[float], ys: Sequence[float], ink: str, width: float = 0.6, transform: Any = None, **how: Any
    ) -> None:
        """A line through places."""
        how.setdefault("solid_capstyle", "butt")
        self.add(Line2D(xs, ys, color=INKS[ink].light, linewidth=width, transform=transform or self.places, **how))

    def box(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        ink: str,
        alpha: float | None = None,
        title: str = "",
    ) -> None:
        """A filled rectangle."""
        self.add(
            Rectangle(
                (left, top),
                width,
                height,
                facecolor=INKS[ink].light,
                alpha=alpha,
                linewidth=0,
                transform=self.places,
            ),
            [title] if title else [],
        )

    def outline(self, left: float, top: float, width: float, height: float, ink: str) -> None:
        """The outline of a rectangle."""
        xs, ys = (left, left + width, left + width, left, left), (top, top, top + height, top + height, top)
        self.line(xs, ys, ink, 0.8)

    def marks(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        shape: str,
        ink: str,
        size: float,
        titles: Sequence[str] = (),
        transform: Any = None,
    ) -> None:
        """Marks of one shape."""
        colour, surface = INKS[ink].light, INKS["surface"].light
        self.add(
            Line2D(
                xs,
                ys,
                linestyle="none",
                marker=shape.strip(),
                markersize=size,
                markerfacecolor=surface if shape == HOLLOW else colour,
                markeredgecolor=colour if shape in (HOLLOW, BAR) else surface,
                markeredgewidth=1.0 if shape in (HOLLOW, BAR) else 0.5,
                transform=transform or self.places,
            ),
            titles,
        )

    def badge(self, tag: str, x: float, y: float, title: str = "", frame: Frame | None = None) -> None:
        """A run's mark: its number on its hue, with its middle at a place of the sheet or of a frame."""
        ground, number = run_inks(tag)
        size = max(BADGE, measure(tag, SMALL, True) + 2.4)
        where = frame.places if frame else None
        self.marks([x], [y], ROUND, ground, size, [title] if title else [], where)
        across, down = frame.place(x, y) if frame else (x, y)
        self.write(tag, across, down, SMALL, number, "center", bold=True)

    def end(self, runs: Mapping[str, str], warning: str) -> None:
        """Below everything, the names of runs by their numbers, and a warning."""
        at, middle = 0.0, 0.0
        for tag, name in runs.items():
            shown = cut(name, SMALL, WIDTH - BADGE - 3)
            width = BADGE + 3 + measure(shown, SMALL)
            if not middle or at + width > WIDTH:
                at, middle = 0.0, self.room(LINE + 1) + LINE / 2 + 1
            self.badge(tag, at + BADGE / 2, middle)
            self.write(shown, at + BADGE + 3, middle, SMALL)
            at += width + 8
        if warning:
            self.write(warning, 0, self.room(LINE + 1) + LINE / 2 + 1, SMALL, "muted", most=WIDTH, name=SET_KIND)

    def _head(self, tag: str, name: str) -> None:
        middle = self.room(LINE + GAP / 2) + LINE / 2
        if tag:
            self.badge(tag, BADGE / 2, middle)
        left = BADGE + 3 if tag else 0.0
        self.write(name, left, middle, bold=True, most=WIDTH - left)


@dataclass(frozen=True)
class Frame:
    """A rectangle of a sheet with two axes."""

    sheet: Sheet
    left: float
    top: float
    width: float
    height: float
    x: Bounds
    y: Bounds

    @property
    def places(self) -> Transform:
        """From values on both axes to places of the sheet, as matplotlib has it."""
        (low, high), (least, most) = self.x, self.y
        across, up = self.width / (high - low), self.height / (most - least)
        moved = Affine2D().translate(-low, -least).scale(across, -up).translate(self.left, self.top + self.height)
        return moved + self.sheet.places

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of two values, in points."""
        (low, high), (least, most) = self.x, self.y
        up = self.height * (y - least) / (most - least)
        return self.left + self.width * (x - low) / (high - low), self.top + self.height - up

    def rule(self, x: float | None = None, y: float | None = None) -> None:
        """A thin line across the other axis at a value, such as chance."""
        if x is not None:
            self.sheet.line((x, x), self.y, "muted", 0.6, self.places, dashes=(3, 2))
        if y is not None:
            self.sheet.line(self.x, (y, y), "muted", 0.6, self.places, dashes=(3, 2))

    def label_x(self, title: str = "") -> None:
        """Numbers and a title below the frame."""
        sheet, below = self.sheet, self.top + self.height
        numbers = sheet.room(LINE) + LINE / 2
        for tick in ticks(self.x):
            at, _ = self.place(tick, self.y[0])
            sheet.line((at, at), (below, below + 2), "muted")
            align: Align = "right" if at > WIDTH - 8 else "center"
            sheet.write(tick_text(tick), min(at, WIDTH), numbers, SMALL, "muted", align)
        if title:
            middle = self.left + self.width / 2
            most = 2 * min(middle, WIDTH - middle)
            sheet.write(title, middle, sheet.room(LINE) + LINE / 2, SMALL, "ink", "center", most)

    def label_y(self, title: str) -> None:
        """Numbers and a title to the left of the frame."""
        for tick in ticks(self.y):
            _, at = self.place(self.x[0], tick)
            self.sheet.line((self.left - 2, self.left), (at, at), "muted")
            self.sheet.write(tick_text(tick), self.left - 3.5, at, SMALL, "muted", "right")
        middle = self.top + self.height / 2
        self.sheet.write(title, SMALL / 2, middle, SMALL, "ink", "center", self.height, rotation=90)


def ticks(bounds: Bounds) -> list[float]:
    """Round numbers between the ends of an axis, about five."""
    low, high = bounds
    found = MaxNLocator(4, steps=(1, 2, 2.5, 5, 10)).tick_values(low, high)
    slack = (high - low) * 1e-9
    return [float(tick) + 0.0 for tick in found if low - slack <= tick <= high + slack]


def one_line(text: str) -> str:
    """A text on one line, with nothing in it that cannot be seen."""
    return printable(" ".join(text.split()))


@lru_cache(8192)
def measure(text: str, size: float, bold: bool = False) -> float:
    """The width of a text, in points."""
    width: float = text_to_path.get_text_width_height_descent(text, _font(size, bold), ismath=False)[0]
    return width


def cut(text: str, size: float, most: float, bold: bool = False) -> str:
    """A text that is no wider than `most` points: its end gives way to an ellipsis."""
    text = one_line(text)
    if measure(text, size, bold) <= most:
        return text
    kept = len(text)
    while kept and measure(text[:kept].rstrip() + "…", size, bold) > most:
        kept -= 1
    return text[:kept].rstrip() + "…"


def wrap(text: str, size: float, most: float, lines: int) -> list[str]:
    """A text in lines no wider than `most` points; the last of `lines` holds the rest, cut."""
    words, wrapped = one_line(text).split(" "), [""]
    for word in words:
        longer = f"{wrapped[-1]} {word}".strip()
        if not wrapped[-1] or len(wrapped) == lines or measure(longer, size) <= most:
            wrapped[-1] = longer
        else:
            wrapped.append(word)
    return [cut(line, size, most) for line in wrapped]


@lru_cache(8)
def _font(size: float, bold: bool) -> FontProperties:
    return FontProperties(family=[FAMILY], size=size, weight="bold" if bold else "normal")
