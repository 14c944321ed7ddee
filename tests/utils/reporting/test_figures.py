"""Figures: every text escaped, every mark on its axis, every number readable."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.reporting.figures import (
    Dot,
    Point,
    count_table,
    dot_plot,
    fit_axis,
    heat_map,
    scatter_plot,
    share_plot,
)
from lmms_eval_tasks.utils.reporting.run_records import RunRecords
from lmms_eval_tasks.utils.stats.estimates import Estimate

NASTY = "<script>alert(1)</script>\"'&"


class Reader(HTMLParser):
    """What a browser would make of a figure."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def every_figure(text: str) -> list[str]:
    found = Estimate(40.0, 30.0, 55.0, 12)
    run = RunRecords(text, text, [])
    points, axis = [Point(text, 1, 2, "people"), Point(text, 1, 2, tag=text)], (text, (0.0, 9.0))
    return [
        dot_plot(text, [Dot.of(text, found, text), Dot.of(text, None)], (0, 100), 25),
        heat_map(text, [text], [text], {(text, text): found}, (0, 100), run),
        count_table(run, text, text, {text: {text: 3}}, [text]),
        share_plot(text, [run], [{text: 3}], [text]),
        scatter_plot(text, points, axis, axis, (1, 1)),
    ]


def test_no_text_becomes_markup() -> None:
    for figure in every_figure(NASTY):
        read = Reader(figure)
        assert "script" not in read.tags
        assert NASTY in "".join(read.texts) or "role" in figure
        assert "<script" not in figure


bounds = st.tuples(st.floats(-1e3, 1e3), st.floats(1, 1e3)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(bounds, st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
@example((0.0, 9.0), -0.0, -0.0, 1.0)
def test_marks_stay_on_the_axis(ends: tuple[float, float], value: float, one: float, two: float) -> None:
    dot = Dot("x", value, min(one, two), max(one, two))
    figure = dot_plot("c", [dot], ends, value)
    places = [float(place) for place in re.findall(r"left:([\d.-]+)%", figure)]
    assert all(0 <= place <= 100 for place in places)
    (left,), (width,) = re.findall(r"left:([\d.]+)%;width", figure), re.findall(r"width:([\d.]+)%", figure)
    assert float(left) + float(width) <= 100.02


def test_a_dot_stands_where_its_value_is() -> None:
    figure = dot_plot("c", [Dot.of("x", Estimate(40.0, 30.0, 55.0, 12))], (0, 100), 25)
    assert '<i class="dot" style="left:40.00%">' in figure
    assert '<i class="interval" style="left:30.00%;width:25.00%">' in figure
    assert '<i class="rule" style="left:25.00%">' in figure
    assert "".join(Reader(figure).texts).startswith("cx40.0 [30.0, 55.0]")


def test_no_score_is_no_dot() -> None:
    figure = dot_plot("c", [Dot.of("x", None)], (0, 100))
    assert "N/A" in figure and 'class="dot"' not in figure


def test_shares_are_of_the_whole() -> None:
    figure = share_plot("c", [RunRecords("1", "x", []), RunRecords("2", "y", [])], [{"a": 1, "b": 3}, {}], ["a", "b"])
    assert re.findall(r"width:([\d.]+)%", figure) == ["25.00", "75.00"]
    assert "1 a · 3 b" in figure and "<small>none</small>" in figure


def test_an_empty_cell_is_no_zero() -> None:
    cells = {("r", "c"): Estimate(0.0, 0.0, 20.0, 5), ("r", "d"): None}
    texts = Reader(heat_map("t", ["r"], ["c", "d"], cells, (0, 100))).texts
    assert texts == ["t", "c", "d", "r", "0.0", "5", "–"]


def test_counts_show_their_sum_and_the_diagonal() -> None:
    figure = count_table(RunRecords("1", "x", []), "t", "k", {"A": {"A": 3, "none": 1}}, ["A", "none"])
    assert figure.count(" same") == 1 and ">4</td>" in figure


def test_the_axis_of_a_difference_holds_every_value_and_no_more_than_there_can_be() -> None:
    assert fit_axis((0.0, 100.0), [3.0]) == (0.0, 100.0)
    assert [fit_axis((-100.0, 100.0), values) for values in ([], [-21.0, 3.0], [99.0, -120.0])] == [
        (-20.0, 20.0), (-40.0, 40.0), (-100.0, 100.0),
    ]  # fmt: skip
