"""Figures of a report page, as HTML and SVG without colours of their own: the page's style sheet gives them.

What belongs to a run carries its number as ``data-run``, and so its hue (`palette`).

Numbers stand in tables that a screen reader can read, with bars and dots beside them placed in percent of the axis, so
that figures fit any width. Every text is escaped. Every figure has a caption, for those who do not see it.
`assets/figures.html` has the markup, a macro per figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lmms_eval_tasks.utils.reporting.columns import number_text
from lmms_eval_tasks.utils.stats.estimates import Estimate

if TYPE_CHECKING:
    from jinja2 import Environment

    from lmms_eval_tasks.utils.reporting.run_records import RunRecords

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Dot:
    """A line of a dot-and-interval plot.

    Attributes:
        label: What it is.
        value: Its place on the axis; None where there is no score, which is then printed as N/A.
        low: Lower end of its interval, None without one.
        high: Upper end of its interval.
        kind: ``run``, ``people``, ``chance`` or ``published``: how it is drawn.
        tag: A run's number, shown before the label in the run's hue.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: str = "run"
    tag: str = ""

    @classmethod
    def of(cls, label: str, score: Estimate | None, tag: str = "") -> Dot:
        """The line of a run's score."""
        return cls(label, score.value, score.low, score.high, tag=tag) if score else cls(label, None, tag=tag)


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot; `kind` and `tag` as for `Dot`."""

    label: str
    x: float
    y: float
    kind: str = "run"
    tag: str = ""


@dataclass(frozen=True)
class Place:
    """A run's score against a quantity.

    Attributes:
        label: What it is.
        x: The quantity.
        score: The score, with its interval.
        tag: The run's number, shown in the point.
    """

    label: str
    x: float
    score: Estimate
    tag: str = ""


def run_badge(tag: str) -> Markup:
    """A run's number in the run's hue; nothing without one."""
    return _draw("badge", tag)


def dot_plot(caption: str, dots: Sequence[Dot], bounds: Bounds, rule: float | None = None) -> Markup:
    """Dots with their intervals on one axis, a line each from top to bottom.

    `bounds` are the axis's ends; a thin line crosses all dots' lines at `rule`, such as chance.
    """
    return _draw("dot_plot", caption, dots, bounds, rule)


def heat_map(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Estimate | None],
    bounds: Bounds,
    run: RunRecords | None = None,
) -> Markup:
    """A score by two strata, as a table whose cells are coloured by it.

    Args:
        caption: What it shows, for those who do not see it.
        rows: Names of the rows.
        columns: Names of the columns.
        cells: Row and column to the score there, as `RunRecords.estimate` gives it; a cell also shows how many groups
            the score stands on. One that is missing or None is empty.
        bounds: The values of the faintest and of the fullest colour, in the score's unit.
        run: The run that it is of, whose number and name stand above; None where it is of several.

    Returns:
        HTML, the body of a `Panel`.
    """
    return _draw("heat_map", caption, rows, columns, cells, bounds, run)


def count_table(
    run: RunRecords, caption: str, corner: str, rows: Mapping[str, Mapping[str, int]], columns: Sequence[str]
) -> Markup:
    """Counts of a run by row and column, each cell coloured by its share of its row; the diagonal is framed.

    `corner` is what rows and columns are.
    """
    return _draw("count_table", run, caption, corner, rows, columns)


def share_plot(
    caption: str, runs: Sequence[RunRecords], counts: Sequence[Mapping[str, int]], parts: Sequence[str]
) -> Markup:
    """Shares of a whole as stacked bars, one a run, with their counts, which stand in the order of the runs.

    Args:
        caption: What is shown, for those who do not see the figure.
        runs: The runs, a bar each.
        counts: Part to its count, for each run.
        parts: Names of a bar's parts in their order, each also the part's class in the style sheet. Outcomes
            (``correct``, ``wrong``, ``unparsed``, ``unscored``) and ``both right``, ``one right``, ``none right`` have
            colours there; a part of another name may be grey.

    Raises:
        ValueError: where there are not as many counts as runs.
    """
    shown = [[(part, count) for part in parts if (count := of_run.get(part, 0))] for of_run in counts]
    return _draw("share_plot", caption, list(zip(runs, shown, strict=True)), parts)


def scatter_plot(
    caption: str, points: Sequence[Point], x: tuple[str, Bounds], y: tuple[str, Bounds], rules: tuple[float, float]
) -> Markup:
    """Points on two axes, `x` and `y`, each with its name and ends; names show where the pointer rests on a point.

    Thin lines cross the horizontal and the vertical axis at `rules`, such as chance.
    """
    # Runs are drawn last, over published models.
    return _draw("scatter_plot", caption, sorted(points, key=lambda point: point.kind != "published"), x, y, rules)


def line_plot(
    caption: str, places: Sequence[Place], x: str, y: tuple[str, Bounds], rule: float | None = None
) -> Markup:
    """Scores with their intervals against a quantity, joined in its order.

    `x` is the quantity's name, `y` the score's with the axis's ends; a thin line crosses at `rule`, such as chance.
    """
    ordered = sorted(places, key=lambda place: place.x)
    ends = (ordered[0].x, ordered[-1].x) if ordered else (0.0, 1.0)
    beside = (ends[1] - ends[0]) / 25 or 1.0
    return _draw("line_plot", caption, ordered, (x, (ends[0] - beside, ends[1] + beside)), y, rule, ends)


def fit_axis(bounds: Bounds, values: Sequence[float]) -> Bounds:
    """The axis of a score with some bounds: all of them, or for a difference, in twenties around zero, what holds all
    values."""
    low, most = bounds
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), most)
    return (-reach, reach) if low < 0 else bounds


def template_environment(folder: Path) -> Environment:
    """Jinja's environment for the HTML templates of a folder: texts are escaped, an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _macros() -> Any:
    environment = template_environment(Path(__file__).parent / "assets")
    environment.filters |= {
        "number": number_text,
        "share": _share,
        "percent": lambda share: f"{100 * share:.2f}%",
        "tick_text": lambda tick: f"{tick:,.0f}" if abs(tick) >= 10_000 else f"{tick:g}",
        "ticks": lambda bounds: [bounds[0] + (bounds[1] - bounds[0]) * quarter / 4 for quarter in range(5)],
        # Places in a scatter plot's frame, which is 520 wide and 300 high and stands at 52, 10.
        "across": lambda value, bounds: f"{52 + 520 * _share(value, bounds):.1f}",
        "up": lambda value, bounds: f"{10 + 300 * (1 - _share(value, bounds)):.1f}",
    }
    return environment.get_template("figures.html").module


def _draw(macro: str, *arguments: object) -> Markup:
    return Markup(getattr(_macros(), macro)(*arguments))


def _share(value: float, bounds: Bounds) -> float:
    low, high = bounds
    # In this order a negative zero becomes a positive one.
    return min(max(0.0, (value - low) / (high - low)), 1.0)
