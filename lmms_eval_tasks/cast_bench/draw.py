"""The picture of one answer: a frame with predicted and true boxes, and the evidence over time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from lmms_eval_tasks.cast_bench.item import Exhibit, Match
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.views import Lane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".pdf", ".svg")
# Okabe and Ito's colours, which people with any colour vision tell apart; the light yellow is left out.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_SPURIOUS = "#555555"
SPURIOUS_SHOWN = 8
"""Predicted instances that match nothing: more than these are counted, not drawn."""
_WIDTH = 11.0
_QUESTION, _OPTION, _NAME = 104, 46, 26
_Dashes = tuple[float, tuple[float, ...]]
_SOLID: _Dashes = (0, ())
_DASHES: _Dashes = (0, (4, 2))


@dataclass(frozen=True)
class _Row:
    """A line of the timeline: an instance, true or predicted, its number in the frame, colour and match."""

    lane: Lane
    number: str
    colour: str
    predicted: bool
    match: Match | None

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The spans that do not end before they start."""
        return [(start, end) for start, end in self.lane.spans if start <= end]


def write_picture(exhibit: Exhibit, path: Path) -> None:
    """Draw an exhibit; true boxes and spans are solid, predicted ones dashed, matched ones share colour and number.

    The same exhibit gives the same bytes.

    Args:
        exhibit: What to draw.
        path: Where to; its suffix is one of `SUFFIXES`.

    Raises:
        InputError: for another suffix.
        OSError: the file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"Expected a picture that ends in {', '.join(SUFFIXES)}, but got {path.name}.")
    rows = list(_rows(exhibit))
    with rc_context({"svg.hashsalt": exhibit.item_id, "font.size": 10}):
        question = textwrap.wrap(exhibit.question, _QUESTION)
        options = list(_option_lines(exhibit))
        height, width = exhibit.picture.shape[:2]
        top = 0.75 + 0.24 * len(question)
        middle = max(min(6.2 * height / width, 5.5), 0.22 * len(options) + 1.2)
        bottom = 0.5 + 0.28 * len(rows)
        total = top + middle + bottom + 0.75
        figure = Figure(figsize=(_WIDTH, total))
        figure.text(0.03, 1 - 0.2 / total, _heading(exhibit), va="top", color="#555555", parse_math=False)
        figure.text(
            0.03, 1 - 0.5 / total, "\n".join(question), va="top", weight="bold", size=12, parse_math=False,
            linespacing=1.3,
        )  # fmt: skip
        frame = figure.add_axes((0.03, 1 - (top + middle) / total, 0.56, middle / total))
        _draw_frame(frame, exhibit, rows)
        _draw_answer(figure.add_axes((0.62, 1 - (top + middle) / total, 0.36, middle / total)), exhibit, options)
        _draw_timeline(figure.add_axes((0.27, 0.55 / total, 0.55, bottom / total)), exhibit, rows)
        metadata = {"Software": None} if path.suffix.lower() == ".png" else {"Date": None}
        if path.suffix.lower() == ".pdf":
            metadata = {"CreationDate": None}
        with replacing(path) as beside:
            figure.savefig(beside, format=path.suffix[1:].lower(), dpi=100, metadata=metadata)


def _heading(exhibit: Exhibit) -> str:
    data = "sample data, " if exhibit.sample else ""
    return f"CaST-Bench, {data}{exhibit.item_id}: {exhibit.run}"


def _rows(exhibit: Exhibit) -> Iterator[_Row]:
    """Each true instance with the predicted one that it was matched with below it, then what matches nothing."""
    by_true = {match.true: match for match in exhibit.matches}
    for place, lane in enumerate(exhibit.true):
        colour, match = COLOURS[place % len(COLOURS)], by_true.get(place)
        yield _Row(lane, str(place + 1), colour, False, match)
        if match is not None:
            yield _Row(exhibit.predicted[match.predicted], str(place + 1), colour, True, match)
    for lane in _unmatched(exhibit)[:SPURIOUS_SHOWN]:
        yield _Row(lane, "?", _SPURIOUS, True, None)


def _unmatched(exhibit: Exhibit) -> list[Lane]:
    matched = {match.predicted for match in exhibit.matches}
    return [lane for place, lane in enumerate(exhibit.predicted) if place not in matched]


def _option_lines(exhibit: Exhibit) -> Iterator[tuple[str, str, str]]:
    """Lines of the list of options: text, colour, weight."""
    for letter, option in zip(ascii_uppercase, exhibit.options, strict=False):
        is_key, is_chosen = letter == exhibit.key, letter == exhibit.chosen
        colour = "#00704F" if is_key else "#B3261E" if is_chosen else "#333333"
        marks = [mark for mark, holds in (("key", is_key), ("chosen", is_chosen)) if holds]
        text = f"{letter}: {option}" + (f"  ← {', '.join(marks)}" if marks else "")
        for line in textwrap.wrap(text, _OPTION, subsequent_indent="     "):
            yield line, colour, "bold" if marks else "normal"


def _draw_frame(axes: Axes, exhibit: Exhibit, rows: list[_Row]) -> None:
    from matplotlib.patches import Rectangle

    height, width = exhibit.picture.shape[:2]
    axes.imshow(exhibit.picture, extent=(0, width, height, 0), interpolation="nearest")
    axes.set_anchor("NW")
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    for row in rows:
        box = row.lane.boxes.get(exhibit.second)
        if box is None or any(map(math.isnan, box)):
            continue
        # What lies far outside the frame is not seen, and the renderer has limits.
        x1, x2 = (min(max(x, -width), 2 * width) for x in box[::2])
        y1, y2 = (min(max(y, -height), 2 * height) for y in box[1::2])
        # A white line below keeps a box visible on any ground; a thinner one leaves the true box below in sight.
        thick, style = (1.8, _DASHES) if row.predicted else (3.0, _SOLID)
        for colour, line, dashes in (("white", thick + 1.4, _SOLID), (row.colour, thick, style)):
            axes.add_patch(
                Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, edgecolor=colour, linewidth=line, linestyle=dashes)
            )
        # True numbers stand at the upper left corner, predicted ones at the lower right.
        at, sides = ((x2, y2), ("left", "top")) if row.predicted else ((x1, y1), ("right", "bottom"))
        axes.text(
            *at, row.number, color="white", weight="bold", size=9, ha=sides[0], va=sides[1], clip_on=True,
            bbox={"facecolor": row.colour, "edgecolor": "white", "linestyle": style, "pad": 1.5},
        )  # fmt: skip
    axes.set_xlabel(f"second {exhibit.second}", loc="left", labelpad=4)


def _draw_answer(axes: Axes, exhibit: Exhibit, options: list[tuple[str, str, str]]) -> None:
    from matplotlib.lines import Line2D

    axes.axis("off")
    step = 0.22 / (axes.get_position().height * axes.figure.get_figheight())  # type: ignore[union-attr]
    place = 1.0
    for text, colour, weight in options:
        axes.text(0, place, text, color=colour, weight=weight, va="top", transform=axes.transAxes, parse_math=False)
        place -= step
    told = _told(exhibit)
    axes.text(0, place - 0.7 * step, "\n".join(told), va="top", transform=axes.transAxes, parse_math=False)
    handles = [
        Line2D([], [], color="#333333", linewidth=2, linestyle="-", label="true"),
        Line2D([], [], color="#333333", linewidth=2, linestyle=_DASHES, label="predicted"),
    ]
    axes.legend(handles=handles, loc="lower left", ncols=2, frameon=False, borderaxespad=0, handlelength=3)


def _told(exhibit: Exhibit) -> list[str]:
    if exhibit.chosen is None:
        answer = "No answer could be read."
    elif exhibit.key is None:
        answer = f"Answered {exhibit.chosen}; the key is withheld."
    else:
        answer = f"Answered {exhibit.chosen}: {'right' if exhibit.chosen == exhibit.key else 'wrong'}."
    if exhibit.im_tiou is None or exhibit.im_viou is None:
        return [answer, *textwrap.wrap(f"Grounding unscored: {exhibit.note}.", _OPTION)]
    told = [answer, f"IM-tIoU {exhibit.im_tiou:.1f}, IM-vIoU {exhibit.im_viou:.1f}"]
    more = len(_unmatched(exhibit)) - SPURIOUS_SHOWN
    return [*told, f"{more} more instances match nothing."] if more > 0 else told


def _draw_timeline(axes: Axes, exhibit: Exhibit, rows: list[_Row]) -> None:
    last = max([math.ceil(exhibit.length) - 1, *(end for lane in exhibit.true for _, end in lane.spans)])
    left, right = -0.6, last + 0.6
    for place, row in enumerate(rows):
        for start, end in row.spans:
            inside, style = (0.12, _DASHES) if row.predicted else (0.4, _SOLID)
            # A span of millions of seconds has more dashes than the renderer can draw.
            axes.barh(
                place, max(0.0, min(end, last + 1) - start + 0.9), left=start - 0.45, height=0.62,
                facecolor=(row.colour, inside), edgecolor=row.colour, linewidth=1.6, linestyle=style,
            )  # fmt: skip
            if end > right:
                axes.text(right, place, "▶", color=row.colour, ha="right", va="center")
        boxed = [second for second in row.lane.boxes if left < second < right]
        axes.plot(boxed, [place] * len(boxed), linestyle="none", marker=".", color=row.colour, markersize=6)
        axes.text(
            1.02, place, _matched(row), va="center", size=9, color=row.colour, transform=axes.get_yaxis_transform()
        )
    axes.set_yticks(range(len(rows)), [_name(row) for row in rows], parse_math=False)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(row.colour)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.set_xlim(left, right)
    step = max(1, math.ceil((right - left) / 20))
    axes.set_xticks(range(0, last + 1, step))
    axes.set_xlabel("seconds; a dot is a second with a box, the line is the frame above")
    axes.axvline(exhibit.second, color="#333333", linewidth=1, linestyle=":")
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _name(row: _Row) -> str:
    # No font has a lone surrogate, which a model's JSON may spell.
    said = row.lane.name.encode("utf-8", "replace").decode("utf-8")
    name = textwrap.shorten(said, _NAME, placeholder="…") or "no name"
    return f"{name}, {'predicted' if row.predicted else 'true'}  {row.number}"


def _matched(row: _Row) -> str:
    if not row.spans:
        return "no span of time"
    if row.match is None:
        return "matches nothing" if row.predicted else "not found"
    return f"tIoU {row.match.tiou:.2f}  vIoU {row.match.viou:.2f}" if row.predicted else ""
