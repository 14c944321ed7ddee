"""Figures: what is drawn stands where the numbers of their tables are, and no text becomes markup or is cut off."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.reporting.columns import RunRecords, score_number
from lmms_eval_tasks.utils.reporting.drawing import (
    DOTS_PER_INCH,
    FAINTEST,
    FULLEST,
    SMALL,
    WIDTH,
    FigureFile,
    cut,
    draw,
    figure_files,
    measure,
    page_figures,
    ticks,
)
from lmms_eval_tasks.utils.reporting.figure import (
    Datum,
    DotPlot,
    Figure,
    Line,
    LinePlot,
    count_table,
    fit_axis,
    heat_map,
    line_plot,
    share_plot,
)
from lmms_eval_tasks.utils.reporting.palette import HUES, INKS, run_inks
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate

NASTY = "<script>alert(1)</script>\"'&$x^2$\n\x07"
LONG = "a-model-with-a-name-that-no-column-of-a-paper-has-room-for " * 3
FOUND = Estimate(40.0, 30.0, 55.0, 12)
SHOWN = score_number(FOUND, "%")


def every_figure(text: str) -> list[Figure]:
    run = RunRecords("1", text, [])
    points = [Datum(text, Number(2), "people", x=1), Datum(text, Number(2), tag="2", x=1)]
    axis, places = (text, (0.0, 9.0)), [Datum(text, SHOWN, x=float(step)) for step in (1, 2)]
    return [
        DotPlot(text, [Datum(text, SHOWN, tag="1"), Datum(text, Number(None))], (0, 100), text, 25),
        heat_map(text, [text], [text, "b"], {(text, text): FOUND}, (0, 100), run),
        count_table(text, text, run, {text: {text: 3}}, [text]),
        share_plot(text, [run, run], [{text: 3}, {}], [text]),
        LinePlot(text, [Line("", points, joined=False)], axis, axis, (1, 1)),
        line_plot(text, [Line(text, places, "1", dashed) for dashed in (False, True)], text, (text, (0.0, 100.0))),
    ]


def shown(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(page_figures([figure])[0])


def texts(figure: Figure) -> list[str]:
    return [one.text or "" for one in shown(figure).iter("text")]


def marks(root: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """Where each mark with a tooltip stands, by the tooltip."""
    found = {}
    for mark in root.iter("g"):
        title, used = mark.find("title"), next(mark.iter("use"), None)
        if title is not None and used is not None:
            found[str(title.text)] = (float(used.attrib["x"]), float(used.attrib["y"]))
    return found


@pytest.mark.slow
def test_texts_of_figures_are_escaped_and_letters_that_the_font_lacks_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    for text, label in ((NASTY, " ".join(NASTY.replace("\x07", "\\x07").split())), ("模型\ud800", "模型\\ud800")):
        figures = every_figure(text)
        for figure, element in zip(figures, page_figures(figures), strict=True):
            root = ElementTree.fromstring(element)
            assert root.attrib["aria-label"] == label
            assert {one.tag for one in root.iter()} <= {"svg", "g", "defs", "path", "use", "text", "title"}
            assert "<script" not in element and figure.table().rows
    figure_files(figures[0])
    assert not recwarn.list


@pytest.mark.slow  # six figures are drawn
def test_what_is_too_long_is_shortened_and_nothing_is_cut_off() -> None:
    for figure in every_figure(LONG):
        canvas = draw(figure).canvas
        canvas.set_dpi(DOTS_PER_INCH)
        agg: Any = FigureCanvasAgg(canvas)
        agg.draw()
        drawn = [one for one in canvas.findobj(Text) if one.get_text()]
        assert len(drawn) > 2 and any("…" in one.get_text() for one in drawn)
        width, height = canvas.bbox.size
        for one in drawn:
            box = one.get_window_extent(agg.get_renderer())
            assert box.x0 >= -0.5 and box.x1 <= width + 0.5 and float(one.get_fontsize()) >= SMALL, one
            assert box.y0 >= -0.5 and box.y1 <= height + 0.5, one


def test_dots_stand_where_their_numbers_are() -> None:
    run, published, none = (
        Datum("x", SHOWN, tag="1"),
        Datum("m", Number(62.5), "published"),
        Datum("none", Number(None)),
    )
    figure = DotPlot("c", [run, published, none, Datum("chance", Number(25.0), "chance")], (0, 100), "accuracy, %", 25)
    root = shown(figure)
    numbers = [one for one in root.iter("text") if "text-anchor:middle;fill:var(--muted" in one.attrib.get("style", "")]
    (zero, *_, hundred) = [float(one.attrib["x"]) for one in numbers]
    at = {title: (x - zero) / (hundred - zero) * 100 for title, (x, _) in marks(root).items()}
    assert at == pytest.approx({"x: 40.0 [30.0, 55.0]": 40, "m: 62.5": 62.5, "chance: 25.0": 25}, abs=0.02)
    table = {str(label): score for label, _, score in figure.table().rows}
    assert table["none"] == Number(None) and "N/A" in texts(figure)
    # Its interval is the thick line on its height.
    (bar,) = (one.attrib["d"] for one in root.iter("path") if "opacity" in one.attrib.get("style", ""))
    ((left, height, right),) = re.findall(r"M ([\d.]+) ([\d.]+) *L ([\d.]+)", bar)
    ends = [(float(end) - zero) / (hundred - zero) * 100 for end in (left, right)]
    assert ends == pytest.approx([30.0, 55.0], abs=0.02)
    assert float(height) == marks(root)["x: 40.0 [30.0, 55.0]"][1]


def test_shares_are_of_the_whole() -> None:
    runs = [RunRecords("1", "x", []), RunRecords("2", "y", [])]
    figure = share_plot("c", runs, [{"a": 1, "b": 3}, {}], ["a", "b"])
    bars = {
        str(title.text): [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path.attrib["d"])]
        for one in shown(figure).iter("g")
        if (title := one.find("title")) is not None and (path := one.find("path")) is not None
    }
    widths = {title: max(xs) - min(xs) + 0.6 for title, xs in bars.items()}
    assert widths == {"a: 1 of 4": pytest.approx(WIDTH / 4), "b: 3 of 4": pytest.approx(WIDTH * 3 / 4)}
    assert figure.table().rows == [("x", "1", 1, 3), ("y", "2", 0, 0)]
    assert [text for text in texts(figure) if text not in ("1", "2", "x", "y")] == ["1 a", "3 b", "none"]


def test_an_empty_cell_is_no_zero_and_the_fuller_is_the_higher() -> None:
    cells = {("r", "c"): Estimate(0.0, 0.0, 20.0, 5), ("r", "d"): None, ("s", "c"): Estimate(75.0, 60.0, 80.0, 1200)}
    figure = heat_map("t", ["r", "s"], ["c", "d"], cells, (0, 100))
    assert texts(figure) == ["c", "d", "r", "0.0", "5", "–", "s", "75.0", "1,200", "–"]
    full = [float(one) for one in re.findall(r"opacity:([\d.]+)", str(page_figures([figure])[0]))]
    assert full == [pytest.approx(0.03), pytest.approx(0.03 + 0.75 * 0.49)]
    assert figure.table().rows[0] == ("r", Number(0.0, 0.0, 20.0, 5, "%"), "")
    # A stratum that is called like a run has no run's mark.
    cells = {(row, "1"): FOUND for row in "12"}
    root = shown(heat_map("difficulty by run", ["1", "2"], ["1"], cells, (0, 100), tags={"1": "1"}))
    assert len(list(root.iter("use"))) == 1
    # Counts show their sum, and the diagonal is framed in an ink that a dark page turns.
    figure = count_table("t", "k", RunRecords("1", "x", []), {"A": {"A": 3, "none": 1}}, ["A", "none"])
    assert [text for text in texts(figure) if text not in ("x", "k", "none", "all")] == ["A", "A", "3", "1", "4", "1"]
    assert figure.table().rows == [("A", 3, 1, 4)]
    styles = [one.attrib.get("style", "") for one in shown(figure).iter("path")]
    (framed,) = (style for style in styles if "fill:none" in style)
    assert "stroke:var(--ink," in framed


@pytest.mark.slow  # a figure is drawn in every form
def test_every_file_is_of_one_drawing_whatever_the_settings_of_a_user() -> None:
    figure = DotPlot("a caption", [Datum("größer", SHOWN, tag="1")], (0, 100), "accuracy, %")
    files, before = figure_files(figure), dict(matplotlib.rcParams)
    with matplotlib.rc_context({"text.usetex": True, "lines.markeredgewidth": 9, "font.family": "serif"}):
        assert figure_files(figure) == files
    assert dict(matplotlib.rcParams) == before and list(files) == list(FigureFile)
    # Fonts are embedded as TrueType, and nothing is dated.
    assert files[FigureFile.PDF].startswith(b"%PDF") and b"/FontFile2" in files[FigureFile.PDF]
    assert b"/Type3" not in files[FigureFile.PDF] and b"Date" not in files[FigureFile.PDF]
    root = ElementTree.fromstring(files[FigureFile.SVG])
    assert root.attrib["width"] == "234pt" and not list(root.iter("{http://www.w3.org/2000/svg}text"))
    (row,) = csv.DictReader(io.StringIO(files[FigureFile.CSV].decode()))
    assert (row["row"], row["value"], row["low"], row["high"], row["n"]) == ("größer / 1", "40.0", "30.0", "55.0", "12")


@pytest.mark.slow  # twelve figures are drawn
def test_the_page_has_its_own_colours_and_every_id_once() -> None:
    elements = page_figures([*every_figure("x"), *every_figure("x")])
    ids = [one for element in elements for one in re.findall(r' id="([^"]+)"', element)]
    assert len(ids) > 5 and len(set(ids)) == len(ids)
    used = {one for element in elements for one in re.findall(r'href="#([^"]+)"', element)}
    assert used == set(ids)
    for element in elements:
        # No colour stands but as what an ink is without a style sheet.
        bare = re.sub(
            r"var\(--([\w-]+),(#\w{6})\)", lambda ink: "" if INKS[ink[1]].light == ink[2] else ink[0], element
        )
        assert "#" not in re.sub(r'href="#[^"]+"', "", bare)


@pytest.mark.filterwarnings("ignore:Glyph .* missing from")
@settings(max_examples=30)
@given(st.text(max_size=60), st.floats(10, 100))
def test_a_cut_text_is_no_wider_than_its_room(text: str, most: float) -> None:
    assert measure(cut(text, 7.0, most), 7.0) <= max(most, measure("…", 7.0))


def test_ticks_are_round_and_axes_hold_every_value() -> None:
    round_numbers = {
        (0, 100): [0, 25, 50, 75, 100],
        (-100, 100): [-100, -50, 0, 50, 100],
        (0.11, 0.29): [0.15, 0.2, 0.25],
    }
    for bounds, numbers in round_numbers.items():
        assert ticks(bounds) == pytest.approx(numbers)
    # The axis of a difference holds no more than there can be; one without bounds has room at its ends.
    open_above, difference = (0.0, math.inf), (-100.0, 100.0)
    for bounds, values, axis in (
        ((0.0, 100.0), [3.0], (0.0, 100.0)), (difference, [], (-20.0, 20.0)), (difference, [-21.0, 3.0], (-40.0, 40.0)),
        (difference, [99.0, -120.0], difference), (open_above, [], (0.0, 1.05)), (open_above, [2.0, 4.0], (1.9, 4.1)),
        (open_above, [1.0, 21.0], (0.0, 22.0)), ((-math.inf, math.inf), [-5.0], (-5.25, -4.75)),
    ):  # fmt: skip
        assert fit_axis(bounds, values) == axis
    cells = {("r", "c"): Estimate(-1.0, -2.0, 0.0, 5), ("r", "d"): Estimate(3.0, 2.0, 4.0, 5)}
    faint, full = re.findall(r"opacity:([\d.]+)", page_figures([heat_map("", "r", "cd", cells, (-math.inf, 9.0))])[0])
    assert FAINTEST < float(faint) < float(full) < FULLEST


def contrast(one: str, two: str) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio" and "relative luminance")."""

    def luminance(colour: str) -> float:
        shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    darker, lighter = sorted(map(luminance, (one, two)))
    return (lighter + 0.05) / (darker + 0.05)


GROUNDS = {"light": ("#ffffff", "#f7f7f5"), "dark": ("#1b1f24", "#14171b")}
"""The page's surface and ground."""


@pytest.mark.parametrize("theme", list(GROUNDS))
def test_hues_stand_out_from_the_page_and_their_numbers_are_read(theme: str) -> None:
    for tag in range(1, HUES + 2):
        colour, text = (getattr(INKS[name], theme) for name in run_inks(str(tag)))
        # WCAG 2.2: 3 for graphical objects (1.4.11), 4.5 for text (1.4.3).
        assert min(contrast(colour, ground) for ground in GROUNDS[theme]) >= 3, colour
        assert contrast(colour, text) >= 4.5, colour
    # So are numbers on the fullest cell.
    surface, accent, ink = (getattr(INKS[name], theme) for name in ("surface", "accent", "ink"))
    parts = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in (surface, accent)]
    mixed = [round(FULLEST * two + (1 - FULLEST) * one) for one, two in zip(*parts, strict=True)]
    assert contrast("#" + "".join(f"{part:02x}" for part in mixed), ink) >= 4.5
    # An ink is known by its colour.
    assert len({ink.light for ink in INKS.values()}) == len(INKS)
