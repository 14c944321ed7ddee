"""Figures drawn on matplotlib's axes, as files for a paper and as what a page shows."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache, singledispatch
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D

from lmms_eval_tasks.utils.core.output import Document, Format, Number, write_document
from lmms_eval_tasks.utils.core.text import printable
from lmms_eval_tasks.utils.reporting.figure import Bounds, DotPlot, Figure, Grid, LinePlot, SharePlot
from lmms_eval_tasks.utils.reporting.palette import INKS, run_inks

WIDTH = 234.0
"""Points: 3.25 inches, a column of most conferences' papers."""
HEIGHT = 128.0
"""Of two axes, in points."""
BASE, SMALL = 7.0, 6.0
"""Sizes of letters, in points."""
LINE, GAP = 10.0, 4.0
"""Height of a line of letters, and a gap, in points."""
BADGE = 8.6
"""Width of a run's mark, in points."""
FAINTEST, FULLEST = 0.03, 0.52
"""How much of the accent a cell has: ink is read on the fullest with a contrast of 4.5 on a light and a dark page."""
SET_KIND = "set-kind"
"""Id of the line that says of what kind of set a figure is, which a page shows in saved figures alone."""
PARTS = {
    **dict.fromkeys(("correct", "both right", "right, supported", "forward"), "correct"),
    **dict.fromkeys(("one right", "right, not supported"), "half-correct"),
    **dict.fromkeys(("wrong", "none right", "wrong, not supported", "backward"), "wrong"),
    "wrong, supported": "half-wrong",
    **dict.fromkeys(("unparsed", "tie"), "unparsed"),
    "non-finite": "ink",
}
"""Parts of a bar that have inks of their own."""
OTHERS = ("unscored", "line", "muted")
"""Inks of the other parts, in turn."""
MARKS = {
    "people": ("D", 4.6, "ink"),
    "published": ("o ", 4.4, "muted"),
    "chance": ("|", 7.0, "muted"),
    "mean": ("s", 5.0, "ink"),
}
"""Shape, size and ink of what is no run; a space makes a shape hollow."""
LIGHT = {name: ink.light for name, ink in INKS.items()}
RULE: dict[str, Any] = {"color": LIGHT["muted"], "linewidth": 0.6, "dashes": (3, 2)}
"""A thin line across at a value, such as chance."""


class Sheet:
    """A sheet as wide as a column, on which texts and axes stand below each other; places are points from its top."""

    def __init__(self) -> None:
        self.canvas = Canvas(figsize=(WIDTH / 72, 1), dpi=72, facecolor=LIGHT["surface"])
        self.ground = self.canvas.add_axes((0, 0, 1, 1), xticks=[], yticks=[])
        self.ground.set_axis_off()
        self.height = 1.0
        self.titles: dict[str, str] = {}

    def room(self, height: float) -> float:
        """Take a height, and return where it begins."""
        self.height += height
        return self.height - height

    def axes(self, left: float, right: float, height: float, x: tuple[str, Bounds], y: Bounds) -> Axes:
        """Return axes below what was drawn, from `left` to `right`, with their ends and with the title of x."""
        title, ends = x
        place = (left, -self.room(height) - height, right - left, height)
        downwards = Affine2D().scale(1, -1) + self.ground.transData
        axes = self.ground.inset_axes(place, transform=downwards, xlim=ends, ylim=y, facecolor="none")
        axes.tick_params(length=2, width=0.6, pad=1.5, labelsize=SMALL, color=LIGHT["muted"], labelcolor=LIGHT["muted"])
        axes.spines[:].set(color=LIGHT["line"], linewidth=0.8)
        axes.set_axisbelow(True)
        name_axis(axes.xaxis, ends, title, min(left + right, 2 * WIDTH - left - right))
        self.room(LINE * (2 if title else 1))
        return axes

    def write(
        self,
        text: str,
        x: float,
        y: float,
        size: float = BASE,
        ink: str = "ink",
        most: float = WIDTH,
        axes: Axes | None = None,
        **how: Any,
    ) -> None:
        """Write a text, no wider than `most`, at a place of the sheet or of axes."""
        shown = cut(text, size, most, how.get("weight") == "bold")
        (axes or self.ground).text(x, y, shown, size=size, color=LIGHT[ink], va="center_baseline", **how)

    def title(self, drawn: Artist, text: str) -> None:
        """Give what was drawn a tooltip, where there is a text."""
        if text:
            drawn.set_gid(f"title-{len(self.titles)}")
            self.titles[f"title-{len(self.titles)}"] = text

    def box(
        self, left: float, middle: float, width: float, height: float, ink: str, text: str = "", **how: Any
    ) -> None:
        how = {"linewidth": 0, "color": LIGHT[ink], "edgecolor": LIGHT[ink], **how}
        self.title(self.ground.barh(middle, width, height, left, **how)[0], text)

    def mark(self, axes: Axes, x: float, y: float, look: tuple[str, float, str], text: str, above: float = 2) -> None:
        """Draw a mark of a shape, size and ink at a place of axes."""
        (shape, size, ink), ground = look, LIGHT["surface"]
        line = shape in ("o ", "|")
        how: dict[str, Any] = {"color": LIGHT[ink], "markeredgecolor": LIGHT[ink] if line else ground, "zorder": above}
        if shape == "o ":
            how["markerfacecolor"] = ground
        drawn = axes.plot(x, y, shape.strip(), markersize=size, markeredgewidth=1.0 if line else 0.5, **how)
        self.title(drawn[0], text)

    def badge(self, tag: str, x: float, y: float, text: str = "", axes: Axes | None = None) -> None:
        axes, (ground, number) = axes or self.ground, run_inks(tag)
        size, above = max(BADGE, measure(tag, SMALL, True) + 2.4), 4 + len(axes.texts)
        self.mark(axes, x, y, ("o", size, ground), text, above)
        self.write(tag, x, y, SMALL, number, axes=axes, ha="center", weight="bold", zorder=above)

    def flow(self, texts: Iterable[str], before: float, line: float) -> Iterator[tuple[float, float]]:
        """Write texts beside each other in as many lines as they need, and give the place of the mark before each."""
        at = middle = 0.0
        for text in texts:
            shown = cut(text, SMALL, WIDTH - before)
            width = before + measure(shown, SMALL)
            if not middle or at + width > WIDTH:
                at, middle = 0.0, self.room(line) + line / 2
            self.write(shown, at + before, middle, SMALL)
            yield at, middle
            at += width + 8

    def named(self, tag: str, name: str, height: float, **how: Any) -> None:
        left, middle = BADGE + 3 if tag else 0.0, self.room(height) + LINE / 2
        if tag:
            self.badge(tag, BADGE / 2, middle)
        self.write(name, left, middle, most=WIDTH - left, **how)


def draw(figure: Figure) -> Sheet:
    """Draw a figure below its run's number and its name, and above the names of its runs and its warning."""
    sheet = Sheet()
    if figure.name:
        sheet.named(figure.tag, figure.name, LINE + GAP / 2, weight="bold")
    draw_on(figure, sheet)
    places = sheet.flow(figure.run_names.values(), BADGE + 3, LINE + 1)
    for tag, (at, middle) in zip(figure.run_names, places, strict=True):
        sheet.badge(tag, at + BADGE / 2, middle)
    if figure.warning:
        sheet.write(figure.warning, 0, sheet.room(LINE + 1) + LINE / 2 + 1, SMALL, "muted", gid=SET_KIND)
    height = sheet.height + 1.0
    sheet.canvas.set_size_inches(WIDTH / 72, height / 72)
    sheet.ground.set(xlim=(0, WIDTH), ylim=(height, 0))
    for one in sheet.canvas.findobj():
        one.set_clip_on(False)
    return sheet


@singledispatch
def draw_on(figure: Figure, sheet: Sheet) -> None:
    raise NotImplementedError(type(figure).__name__)


@draw_on.register
def _(figure: DotPlot, sheet: Sheet) -> None:
    """Labels to the left, numbers to the right, the axis below."""
    marks, (low, high) = figure.marks, figure.bounds
    left = min(widest((mark.label for mark in marks), BASE), 92)
    begin = left + BADGE / 2 + 3
    end = WIDTH - widest((mark.score.text for mark in marks), SMALL) - BADGE / 2 - 4
    named = figure.chance is not None and all(mark.kind != "chance" for mark in marks)
    sheet.room(LINE * 0.8 * named)
    top, lines = sheet.height, max(len(marks), 1)
    axes = sheet.axes(begin, end, LINE * lines, (figure.axis, figure.bounds), (lines, 0.0))
    axes.spines[:].set_visible(False)
    axes.set_yticks([place + 0.5 for place in range(len(marks))], [""] * len(marks))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=LIGHT["line"], linewidth=0.4)
    if figure.chance is not None:
        axes.axvline(figure.chance, **RULE)
        if named:
            sheet.write("chance", figure.chance, -0.4, SMALL, "muted", axes=axes, ha="center")
    above = None
    for place, mark in enumerate(marks):
        ink = "muted" if mark.kind in ("published", "chance") else "ink"
        at, middle = place + 0.5, top + LINE * (place + 0.5)
        if not figure.grouped or mark.label != above:
            sheet.write(mark.label, left, middle, BASE, ink, left, ha="right")
        above = mark.label
        sheet.write(mark.score.text, WIDTH, middle, SMALL, ink, ha="right")
        if mark.score.value is None:
            continue
        if mark.score.low is not None and mark.score.high is not None:
            hue = LIGHT[run_inks(mark.tag)[0] if mark.kind == "run" else "ink"]
            axes.hlines(at, max(mark.score.low, low), min(mark.score.high, high), hue, linewidth=2.6, alpha=0.45)
        inside, text = min(max(mark.score.value, low), high), f"{mark.label}: {mark.score.text}"
        if mark.kind == "run" and mark.tag:
            sheet.badge(mark.tag, inside, at, text, axes)
        else:
            sheet.mark(axes, inside, at, MARKS.get(mark.kind, ("D", 4.6, "accent")), text)


@draw_on.register
def _(figure: LinePlot, sheet: Sheet) -> None:
    """The lines' names where there are several, then axes and lines; all intervals lie below all lines, and runs above
    all else."""
    strokes: list[dict[str, Any]] = [
        {
            "color": LIGHT[run_inks(line.tag)[0] if line.tag else "muted"],
            "linewidth": 1.0,
            "solid_capstyle": "butt",
            **({"dashes": (4, 2)} if line.dashed else {}),
        }
        for line in figure.lines
    ]
    if len(figure.lines) > 1:
        names = sheet.flow((line.label for line in figure.lines), 20, LINE)
        for line, stroke, (at, middle) in zip(figure.lines, strokes, names, strict=True):
            sheet.ground.plot([at, at + 16], [middle, middle], **stroke)
            if line.tag and not figure.tag:
                sheet.badge(line.tag, at + 8, middle)
        sheet.room(GAP)
    sheet.room(GAP)
    (_, across), (title, up) = figure.x, figure.y
    left = SMALL + 7 + widest(map(tick_text, ticks(up)), SMALL)
    right = WIDTH - max(6.0, widest(map(tick_text, ticks(across)), SMALL) / 2)
    axes = sheet.axes(left, right, HEIGHT, figure.x, up)
    name_axis(axes.yaxis, up, title, HEIGHT)
    for value, draw_rule in zip(figure.rules, (axes.axvline, axes.axhline), strict=True):
        if value is not None:
            draw_rule(value, **RULE)
    for line, stroke in zip(figure.lines, strokes, strict=True):
        if line.joined:
            axes.plot([mark.x for mark in line.marks], [mark.score.value or 0.0 for mark in line.marks], **stroke)
        for mark in line.marks:
            x, y = mark.x, mark.score.value or 0.0
            if mark.score.low is not None and mark.score.high is not None:
                ends, hue = (max(mark.score.low, up[0]), min(mark.score.high, up[1])), run_inks(mark.tag or line.tag)[0]
                wide = 2.6 if len(figure.lines) == 1 else 1.2
                axes.vlines(x, *ends, LIGHT[hue], linewidth=wide, alpha=0.45, zorder=1.5)
            place = f"{figure.x[0]} {x:g}: " if line.joined else f"{line.place(mark).text}, "
            text = ": ".join(filter(None, (line.label or mark.label, f"{place}{mark.score.text}")))
            # The number tells the line, also without its colour.
            if tag := mark.tag or (line.tag if mark is line.marks[-1] and not figure.tag else ""):
                sheet.badge(tag, x, y, text, axes)
            else:
                own = ("o " if line.dashed else "o", 3.6, run_inks(line.tag)[0])
                sheet.mark(axes, x, y, MARKS.get(mark.kind, own), text)
            if mark.kind == "people":
                share, beside = (x - across[0]) / (across[1] - across[0]), 5 * (across[1] - across[0]) / (right - left)
                side, at = ("right", x - beside) if share > 0.5 else ("left", x + beside)
                most = max(share, 1 - share) * (right - left) - 5
                sheet.write(mark.label, at, y, SMALL, most=most, axes=axes, ha=side)


def name_axis(axis: Axis, bounds: Bounds, title: str, most: float) -> None:
    axis.set_ticks(found := ticks(bounds), [tick_text(tick) for tick in found])
    axis.set_label_text(cut(title, SMALL, most), size=SMALL, color=LIGHT["ink"])
    axis.labelpad = 1.5


@draw_on.register
def _(figure: Grid, sheet: Sheet) -> None:
    """Names of columns above, in as many bands of columns as the width needs."""
    texts = {key: cell_texts(cell) for key, cell in figure.cells.items()}
    two_lines = any(below for _, below in texts.values())
    left = min(widest((*figure.rows, figure.corner), BASE), 84.0) + 4
    words = widest((word for name in figure.columns for word in one_line(name).split()), SMALL)
    needed = max(widest((text for pair in texts.values() for text in pair), BASE) + 4, min(words + 3, 46.0), 20.0)
    bands = -(-len(figure.columns) // max(int((WIDTH - left) // needed), 1))
    beside = -(-len(figure.columns) // bands) if figure.columns else 1
    width, height = min((WIDTH - left) / beside, 46.0), (2 if two_lines else 1.5) * LINE
    for begin in range(0, len(figure.columns), beside):
        part = figure.columns[begin : begin + beside]
        heads = {column: wrap(column, SMALL, width - 2, 3) for column in part}
        lines = max(map(len, heads.values()))
        sheet.room(GAP if begin else 0)
        top = sheet.room(lines * SMALL * 1.25 + GAP)
        middles = {column: left + (place + 0.5) * width for place, column in enumerate(part)}
        if figure.corner:
            sheet.write(figure.corner, 0, top + LINE / 2, SMALL, "muted", left - 2)
        for column, across in middles.items():
            if column in figure.tags:
                sheet.badge(figure.tags[column], across, top + LINE / 2)
                continue
            for line, text in enumerate(heads[column], start=lines - len(heads[column])):
                sheet.write(text, across, top + SMALL * (0.6 + 1.25 * line), SMALL, "muted", ha="center")
        for row in figure.rows:
            middle = sheet.room(height) + height / 2
            sheet.write(row, 0, middle, most=left - 3)
            for column, across in middles.items():
                full, cell = figure.shares.get((row, column)), figure.cells.get((row, column))
                if full is not None:
                    title, shade = cell.text if isinstance(cell, Number) else "", FAINTEST + (FULLEST - FAINTEST) * full
                    sheet.box(across - width / 2 + 0.5, middle, width - 1, height - 1, "accent", title, alpha=shade)
                if row == column and isinstance(cell, int):
                    left_of = across - width / 2 + 1
                    sheet.box(left_of, middle, width - 2, height - 2, "ink", fill=False, linewidth=0.8)
                text, below = texts.get((row, column), ("–", ""))
                up, down = (LINE / 2.4, LINE / 2.2) if below else (0.0, 0.0)
                sheet.write(text, across, middle - up, ink="muted" if full is None else "ink", ha="center")
                if below:
                    sheet.write(below, across, middle + down, SMALL, ha="center")


def cell_texts(cell: Number | int) -> tuple[str, str]:
    """A cell's text, and a smaller one below: the number of groups behind a score."""
    if isinstance(cell, Number):
        return Number(cell.value).text, f"{cell.n:,}"
    return f"{cell:,}" if cell else "·", ""


@draw_on.register
def _(figure: SharePlot, sheet: Sheet) -> None:
    """Each run's name, its bar, and below it the parts in the bar's order."""
    others = [part for part in figure.parts if part not in PARTS]
    inks = {**PARTS, **{part: OTHERS[place % len(OTHERS)] for place, part in enumerate(others)}}
    for (tag, name), counts in zip(figure.runs, figure.counts, strict=True):
        sheet.named(tag, name, LINE + 1)
        shown = [(part, counts.get(part, 0)) for part in figure.parts if counts.get(part, 0)]
        total, at = sum(count for _, count in shown), 0.0
        middle = sheet.room(9.0) + 4
        if not total:
            sheet.box(0, middle, WIDTH, 8, "faint")
            sheet.write("none", 0, sheet.room(LINE - 1) + LINE / 2, SMALL, "muted")
        for part, count in shown:
            width = WIDTH * count / total
            sheet.box(at, middle, max(width - 0.6, 0.4), 8, inks[part], f"{part}: {count:,} of {total:,}")
            at += width
        amounts = sheet.flow([f"{count:,} {part}" for part, count in shown], 7, LINE - 1)
        for (part, _), (at, middle) in zip(shown, amounts, strict=True):
            sheet.box(at, middle, 5, 5, inks[part])
        sheet.room(GAP)


def write(axes: Axes, text: str, x: float, y: float, size: float, ink: str = "ink", **how: Any) -> None:
    axes.text(x, y, text, size=size, color=LIGHT[ink], va="center_baseline", **how)


def tick_text(tick: float) -> str:
    return f"{tick:,.0f}" if abs(tick) >= 10_000 else f"{tick:g}"


def ticks(bounds: Bounds) -> list[float]:
    """Return round numbers between the ends of an axis, about five."""
    low, high = bounds
    found = MaxNLocator(4, steps=(1, 2, 2.5, 5, 10)).tick_values(low, high)
    slack = (high - low) * 1e-9
    return [float(tick) + 0.0 for tick in found if low - slack <= tick <= high + slack]


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def widest(texts: Iterable[str], size: float) -> float:
    return max((measure(one_line(text), size) for text in texts), default=0.0)


@lru_cache(8192)
def measure(text: str, size: float, bold: bool = False) -> float:
    font = FontProperties(family=["DejaVu Sans"], size=size, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def cut(text: str, size: float, most: float, bold: bool = False) -> str:
    """Return a text that is no wider than `most` points: its end gives way to an ellipsis."""
    text = one_line(text)
    if measure(text, size, bold) <= most:
        return text
    kept = len(text)
    while kept and measure(text[:kept].rstrip() + "…", size, bold) > most:
        kept -= 1
    return text[:kept].rstrip() + "…"


def wrap(text: str, size: float, most: float, lines: int) -> list[str]:
    """Return a text in lines no wider than `most` points; the last of `lines` holds the rest, cut."""
    wrapped = [""]
    for word in one_line(text).split(" "):
        longer = f"{wrapped[-1]} {word}".strip()
        if not wrapped[-1] or len(wrapped) == lines or measure(longer, size) <= most:
            wrapped[-1] = longer
        else:
            wrapped.append(word)
    return [cut(line, size, most) for line in wrapped]


class FigureFile(str, Enum):
    PDF = "pdf"
    SVG = "svg"
    PNG = "png"
    CSV = "csv"


DOTS_PER_INCH = 300
# No file says when it was made or by which version, so that the same figure gives the same bytes.
UNDATED: dict[FigureFile, dict[str, Any]] = {
    FigureFile.PDF: {"Creator": None, "Producer": None, "CreationDate": None},
    FigureFile.SVG: {"Creator": None, "Date": None},
    FigureFile.PNG: {"Software": None},
}


def figure_files(figure: Figure) -> dict[FigureFile, bytes]:
    """Return a figure as each kind of file; the same figure gives the same bytes."""
    table = figure.table()
    if figure.warning:
        table.warnings.append(f"{figure.warning}.")
    document = Document("report", [table])
    with own_settings():
        sheet = draw(figure)
        drawn = {form: saved(sheet, form) for form in UNDATED}
    return {**drawn, FigureFile.CSV: write_document(document, Format.CSV).encode()}


def page_figures(figures: Iterable[Figure]) -> list[Markup]:
    """Return figures as the elements that a page shows, in the page's colours, with a tooltip on each mark."""
    shown = []
    with own_settings(text_as_text=True):
        for place, figure in enumerate(figures):
            # By it no id is that of another figure.
            matplotlib.rcParams["svg.hashsalt"] = f"figure {place}"
            sheet = draw(figure)
            sheet.canvas.patch.set_visible(False)
            shown.append(page_svg(saved(sheet, FigureFile.SVG), figure.caption, sheet.titles))
    return shown


def saved(sheet: Sheet, form: FigureFile) -> bytes:
    file = io.BytesIO()
    sheet.canvas.savefig(file, format=form.value, dpi=DOTS_PER_INCH, metadata=UNDATED[form])
    return file.getvalue()


@contextmanager
def own_settings(text_as_text: bool = False) -> Iterator[None]:
    """Set matplotlib's own settings, whatever a user's are, with fonts embedded and ids that are always the same."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "pdf.fonttype": 42,
                "svg.fonttype": "none" if text_as_text else "path",
                "svg.hashsalt": "lmms_eval_tasks",
                "text.parse_math": False,
            }
        )
        yield


_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NAMES = {ink.light: f"var(--{name},{ink.light})" for name, ink in INKS.items()}
_ROOT = f"fill:{_NAMES[INKS['ink'].light]};font:7px 'DejaVu Sans',Verdana,sans-serif;stroke-linejoin:round"
_USUAL = {"text-anchor": "start", "font-size": "7px", "fill": _NAMES[INKS["ink"].light], "opacity": "1"}
"""What a text has that does not say otherwise."""


def page_svg(drawn: bytes, caption: str, titles: Mapping[str, str]) -> Markup:
    """Return a drawing as a page's element: its inks by name, its marks with their titles."""
    root = ElementTree.fromstring(drawn)
    known = {"role": "img", "aria-label": one_line(caption), "style": _ROOT}
    shown = ElementTree.Element("svg", {"viewBox": root.attrib["viewBox"], **known})
    shown.extend(root.findall(f"{_SVG}g"))
    for one in [*shown.iter()][1:]:
        one.tag, one.tail = one.tag.removeprefix(_SVG), None
        one.text = one.text if one.tag == "text" else None
        of_group = one.attrib.pop("id", "") if one.tag == "g" else ""
        if of_group in titles:
            one.insert(0, title := ElementTree.Element("title"))
            title.text = one_line(titles[of_group])
        if of_group == SET_KIND:
            one.set("class", SET_KIND)
        for key, value in [*one.attrib.items()]:
            del one.attrib[key]
            if key == "style":
                styles = [part.strip().split(": ", 1) for part in value.split(";") if ":" in part]
                inks = ((name, _NAMES.get(styled, styled)) for name, styled in styles)
                kept = [f"{name}:{styled}" for name, styled in inks if one.tag != "text" or _USUAL.get(name) != styled]
                value = ";".join(one for one in kept if not one.startswith("font-family:"))
            elif key == _LINK:
                key = "href"
            elif key != "id":
                value = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.2f}", value).strip()
            if value and "rotate(-0 " not in value:
                one.set(key, value)
    return Markup(ElementTree.tostring(shown, encoding="unicode"))
