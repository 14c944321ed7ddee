"""Figures of a report page, as HTML and SVG without colours of their own: the page's style sheet gives them.

Numbers stand in tables that a screen reader can read, with bars and dots beside them placed in percent of the axis, so
that figures fit any width. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from lmms_eval_tasks.utils.stats.estimates import Estimate

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Dot:
    """A line of a dot-and-interval plot.

    Attributes:
        label: What it is.
        value: Its place on the axis; None where there is no score, which is said.
        low: Lower end of its interval, None without one.
        high: Upper end of its interval.
        kind: ``run``, ``people``, ``chance`` or ``published``: how it is drawn.
        tag: A run's letter, shown before the label.
        more: Small print after the number.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: str = "run"
    tag: str = ""
    more: str = ""

    @classmethod
    def of(cls, label: str, found: Estimate | None, tag: str = "", things: str = "") -> Dot:
        """Of a run's score; `things` names what it is counted over."""
        if found is None:
            return cls(label, None, tag=tag)
        more = f"{found.groups:,} {things}".rstrip() if things else ""
        return cls(label, found.value, found.low, found.high, tag=tag, more=more)


@dataclass(frozen=True)
class Bar:
    """A line of a plot of shares: a label and the counts of its parts, in their order."""

    label: str
    counts: Mapping[str, int]
    tag: str = ""


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot; `kind` and `tag` as for `Dot`."""

    label: str
    x: float
    y: float
    kind: str = "run"
    tag: str = ""


def number(value: float | None) -> str:
    """A score as it is printed."""
    return "N/A" if value is None else f"{value:.1f}"


def chip(tag: str) -> Markup:
    """A run's letter."""
    return Markup('<span class="chip">{}</span> ').format(tag) if tag else Markup("")


def dot_plot(caption: str, dots: Sequence[Dot], bounds: Bounds, rule: float | None = None) -> Markup:
    """Dots with their intervals on one axis, a line each.

    Args:
        caption: What is plotted, for those who do not see it.
        dots: The lines, from top to bottom.
        bounds: Ends of the axis.
        rule: Where a thin line crosses all of them, such as chance.
    """
    across = Markup('<i class="rule" style="left:{}"></i>').format(_at(rule, bounds)) if rule is not None else ""
    lines = Markup("").join(_dot_line(dot, bounds, across) for dot in dots)
    ticks = Markup("").join(
        Markup('<i class="tick" style="left:{}">{}</i>').format(_at(tick, bounds), f"{tick:g}")
        for tick in _ticks(bounds)
    )
    return Markup(
        '<table class="plot dots"><caption class="unseen">{}</caption><tbody>{}</tbody>'
        '<tfoot aria-hidden="true"><tr><td></td><td class="track axis">{}</td><td></td></tr></tfoot></table>'
    ).format(caption, lines, ticks)


def _dot_line(dot: Dot, bounds: Bounds, across: Markup | str) -> Markup:
    marks, text = Markup(""), Markup('<b class="none">N/A</b>')
    if dot.value is not None:
        text = Markup("<b>{}</b>").format(number(dot.value))
        if dot.low is not None and dot.high is not None:
            left, right = _share(dot.low, bounds), _share(dot.high, bounds)
            marks += Markup('<i class="interval" style="left:{};width:{}"></i>').format(_css(left), _css(right - left))
            text += Markup(" <small>[{}, {}]</small>").format(number(dot.low), number(dot.high))
        marks += Markup('<i class="dot" style="left:{}"></i>').format(_at(dot.value, bounds))
    if dot.more:
        text += Markup(" <small>{}</small>").format(dot.more)
    return Markup(
        '<tr class="{}"><th scope="row">{}{}</th><td class="track">{}{}</td><td class="number">{}</td></tr>'
    ).format(dot.kind, chip(dot.tag), dot.label, across, marks, text)


def heat_map(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Estimate | None],
    bounds: Bounds,
) -> Markup:
    """A score by two strata; a cell says how many groups it stands on, and one that has none is empty.

    Args:
        caption: What is shown, for those who do not see it.
        rows: Names of the rows.
        columns: Names of the columns.
        cells: The score of a row and column.
        bounds: The values of the faintest and the fullest colour.
    """
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in columns)
    body = Markup("").join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            row, Markup("").join(_heat_cell(cells.get((row, column)), bounds) for column in columns)
        )
        for row in rows
    )
    return Markup(
        '<div class="scroll"><table class="heat"><caption class="unseen">{}</caption>'
        "<thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(caption, head, body)


def _heat_cell(found: Estimate | None, bounds: Bounds) -> Markup:
    if found is None:
        return Markup('<td class="empty">–</td>')
    share = _share(found.value, bounds)
    return Markup('<td style="--share:{}" class="{}" title="{}">{}<small>{}</small></td>').format(
        f"{share:.3f}",
        "full" if share > 0.55 else "faint",
        f"95% interval {number(found.low)} to {number(found.high)}",
        number(found.value),
        f"{found.groups:,}",
    )


def count_table(caption: str, corner: str, rows: Mapping[str, Mapping[str, int]], columns: Sequence[str]) -> Markup:
    """Counts by two names, each cell coloured by its share of its row; what stands on the diagonal is framed.

    Args:
        caption: What is shown, for those who do not see it.
        corner: What rows and columns are.
        rows: Row to column to count.
        columns: The columns, in their order.
    """
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in (*columns, "all"))
    body = Markup("")
    for row, counts in rows.items():
        total = sum(counts.values())
        cells = Markup("").join(_count_cell(counts.get(name, 0), total, name == row) for name in columns)
        body += Markup('<tr><th scope="row">{}</th>{}<td class="all">{}</td></tr>').format(row, cells, f"{total:,}")
    return Markup(
        '<div class="scroll"><table class="heat counts"><caption class="unseen">{}</caption>'
        '<thead><tr><th class="corner">{}</th>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(caption, corner, head, body)


def _count_cell(count: int, total: int, same: bool) -> Markup:
    share = count / total if total else 0.0
    kind = f"{'full' if share > 0.55 else 'faint'}{' same' if same else ''}"
    return Markup('<td style="--share:{}" class="{}">{}</td>').format(f"{share:.3f}", kind, count or "·")


def share_plot(caption: str, bars: Sequence[Bar], parts: Sequence[str]) -> Markup:
    """Shares of a whole as stacked bars, with their counts.

    Args:
        caption: What is plotted, for those who do not see it.
        bars: The lines, from top to bottom.
        parts: Names of the parts in the bar's order, each also the part's class in the style sheet.
    """
    legend = Markup("").join(Markup('<li class="part {}">{}</li>').format(_class(part), part) for part in parts)
    lines = Markup("")
    for bar in bars:
        total = sum(bar.counts.get(part, 0) for part in parts)
        stack = Markup("").join(
            Markup('<i class="{}" style="width:{}"></i>').format(_class(part), _css(bar.counts.get(part, 0) / total))
            for part in parts
            if total and bar.counts.get(part, 0)
        )
        told = " · ".join(f"{bar.counts.get(part, 0):,} {part}" for part in parts if bar.counts.get(part, 0))
        lines += Markup(
            '<tr><th scope="row">{}{}</th><td class="track stack" aria-hidden="true">{}</td></tr>'
            '<tr class="told"><td></td><td><small>{}</small></td></tr>'
        ).format(chip(bar.tag), bar.label, stack, told or "none")
    return Markup(
        '<ul class="legend" aria-hidden="true">{}</ul>'
        '<table class="plot shares"><caption class="unseen">{}</caption><tbody>{}</tbody></table>'
    ).format(legend, caption, lines)


def scatter_plot(
    caption: str, points: Sequence[Point], x: tuple[str, Bounds], y: tuple[str, Bounds], rules: tuple[float, float]
) -> Markup:
    """Points on two axes.

    Args:
        caption: What is plotted, for those who do not see it.
        points: The points; published ones are named where the pointer rests on them.
        x: Name and ends of the horizontal axis.
        y: Name and ends of the vertical axis.
        rules: Where a thin line crosses the horizontal and the vertical axis, such as chance.
    """
    left, top, width, height = 52.0, 10.0, 520.0, 300.0

    def place(point: tuple[float, float]) -> tuple[str, str]:
        across, up = _share(point[0], x[1]), _share(point[1], y[1])
        return f"{left + across * width:.1f}", f"{top + (1 - up) * height:.1f}"

    body = Markup("")
    for tick in _ticks(x[1]):
        at, _ = place((tick, y[1][0]))
        body += Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            at, f"{top + height + 18:.1f}", f"{tick:g}"
        )
    for tick in _ticks(y[1]):
        _, at = place((x[1][0], tick))
        body += Markup('<text class="tick" x="{}" y="{}" text-anchor="end" dy=".35em">{}</text>').format(
            f"{left - 8:.1f}", at, f"{tick:g}"
        )
    rule_x, rule_y = place(rules)
    body += Markup('<path class="rule" d="M{} {}v{}M{} {}h{}"/>').format(
        rule_x, f"{top:.1f}", f"{height:.1f}", f"{left:.1f}", rule_y, f"{width:.1f}"
    )
    for point in sorted(points, key=lambda point: point.kind != "published"):
        at_x, at_y = place((point.x, point.y))
        name = point.tag or (point.label if point.kind == "people" else "")
        body += Markup('<g class="point {}"><title>{}: {}, {}</title>').format(
            point.kind, point.label, number(point.x), number(point.y)
        )
        body += Markup('<circle cx="{}" cy="{}" r="{}"/>').format(at_x, at_y, 9 if point.tag else 5)
        if name:
            inside = bool(point.tag)
            body += Markup('<text x="{}" y="{}" text-anchor="{}" dy="{}">{}</text>').format(
                at_x, at_y, "middle" if inside else "end", ".35em" if inside else "-.8em", name
            )
        body += Markup("</g>")
    return Markup(
        '<svg class="scatter" viewBox="0 0 600 360" role="img" aria-label="{}">'
        '<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>{}'
        '<text class="axis" x="{}" y="352" text-anchor="middle">{}</text>'
        '<text class="axis" transform="translate(14 {}) rotate(-90)" text-anchor="middle">{}</text></svg>'
    ).format(
        caption, left, top, width, height, body, f"{left + width / 2:.1f}", x[0], f"{top + height / 2:.1f}", y[0]
    )  # fmt: skip


def around_zero(values: Sequence[float], most: float) -> Bounds:
    """An axis around zero, in twenties, that holds all values, and no more than `most` to either side."""
    reach = min(20.0 * -(-max([20.0, *map(abs, values)]) // 20.0), most)
    return -reach, reach


def _share(value: float, bounds: Bounds) -> float:
    low, high = bounds
    # In this order a negative zero becomes a positive one.
    return min(max(0.0, (value - low) / (high - low)), 1.0)


def _at(value: float, bounds: Bounds) -> str:
    return _css(_share(value, bounds))


def _css(share: float) -> str:
    return f"{100 * share:.2f}%"


def _ticks(bounds: Bounds) -> list[float]:
    low, high = bounds
    return [low + (high - low) * quarter / 4 for quarter in range(5)]


def _class(part: str) -> str:
    return str(escape(part)).replace(" ", "-")
