"""The picture of one answer: a frame with predicted and true boxes, and the evidence over time."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.page import InstanceTrack
from lmms_eval_tasks.api.release import write_file
from lmms_eval_tasks.cast_bench.item import AnsweredItem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Suffix to the metadata that is left out, so that the same item always gives the same bytes.
SUFFIXES = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
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

    track: InstanceTrack
    number: str
    colour: str
    predicted: bool
    match: Mapping[str, Any] | None

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The spans that do not end before they start."""
        return [(start, end) for start, end in self.track.spans if start <= end]


def draw_item(item: AnsweredItem, path: Path) -> None:
    """Draw an item; true boxes and spans are solid, predicted ones dashed, matched ones share colour and number."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"Expected a picture that ends in {', '.join(SUFFIXES)}, but got {path.name}.")
    rows = list(_rows(item))
    with rc_context({"svg.hashsalt": item.record.item_id, "font.size": 10}):
        question = textwrap.wrap(item.row["question"], _QUESTION)
        options = list(_option_lines(item))
        height, width = item.picture.shape[:2]
        top = 0.75 + 0.24 * len(question)
        middle = max(min(6.2 * height / width, 5.5), 0.22 * len(options) + 1.2)
        bottom = 0.5 + 0.28 * len(rows)
        total = top + middle + bottom + 0.75
        figure = Figure(figsize=(_WIDTH, total))
        figure.text(0.03, 1 - 0.2 / total, _heading(item), va="top", color="#555555", parse_math=False)
        figure.text(
            0.03, 1 - 0.5 / total, "\n".join(question), va="top", weight="bold", size=12, parse_math=False,
            linespacing=1.3,
        )  # fmt: skip
        frame = figure.add_axes((0.03, 1 - (top + middle) / total, 0.56, middle / total))
        _draw_frame(frame, item, rows)
        _draw_answer(figure.add_axes((0.62, 1 - (top + middle) / total, 0.36, middle / total)), item, options)
        _draw_timeline(figure.add_axes((0.27, 0.55 / total, 0.55, bottom / total)), item, rows)
        picture = io.BytesIO()
        figure.savefig(picture, format=suffix[1:], dpi=100, metadata={SUFFIXES[suffix]: None})
    write_file(path, picture.getvalue())


def _heading(item: AnsweredItem) -> str:
    data = "sample data, " if item.sample else ""
    return f"CaST-Bench, {data}{item.record.item_id}: {item.run}"


def _rows(item: AnsweredItem) -> Iterator[_Row]:
    """Each true instance with the predicted one that it was matched with below it, then what matches nothing."""
    by_true = {match["true"]: match for match in _matches(item)}
    for place, track in enumerate(item.true):
        colour, match = COLOURS[place % len(COLOURS)], by_true.get(place)
        yield _Row(track, str(place + 1), colour, False, match)
        if match is not None:
            yield _Row(item.predicted[match["predicted"]], str(place + 1), colour, True, match)
    for track in _unmatched(item)[:SPURIOUS_SHOWN]:
        yield _Row(track, "?", _SPURIOUS, True, None)


def _matches(item: AnsweredItem) -> Sequence[Mapping[str, Any]]:
    """The matched pairs of its grounding, as `Pair` has them."""
    grounding = item.record.fields["grounding"]
    return grounding["pairs"] if grounding else ()


def _unmatched(item: AnsweredItem) -> list[InstanceTrack]:
    matched = {match["predicted"] for match in _matches(item)}
    return [track for place, track in enumerate(item.predicted) if place not in matched]


def _option_lines(item: AnsweredItem) -> Iterator[tuple[str, str, str]]:
    """Lines of the list of options: text, colour, weight."""
    for letter, option in zip(ascii_uppercase, item.row["options"], strict=False):
        is_key, is_chosen = letter == item.record.expected, letter == item.record.answered
        colour = "#00704F" if is_key else "#B3261E" if is_chosen else "#333333"
        marks = [mark for mark, holds in (("key", is_key), ("chosen", is_chosen)) if holds]
        text = f"{letter}: {option}" + (f"  ← {', '.join(marks)}" if marks else "")
        for line in textwrap.wrap(text, _OPTION, subsequent_indent="     "):
            yield line, colour, "bold" if marks else "normal"


def _draw_frame(axes: Axes, item: AnsweredItem, rows: list[_Row]) -> None:
    from matplotlib.patches import Rectangle

    height, width = item.picture.shape[:2]
    axes.imshow(item.picture, extent=(0, width, height, 0), interpolation="nearest")
    axes.set_anchor("NW")
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    for row in rows:
        box = row.track.boxes.get(item.second)
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
    axes.set_xlabel(f"second {item.second}", loc="left", labelpad=4)


def _draw_answer(axes: Axes, item: AnsweredItem, options: list[tuple[str, str, str]]) -> None:
    from matplotlib.lines import Line2D

    axes.axis("off")
    step = 0.22 / (axes.get_position().height * axes.figure.get_figheight())  # type: ignore[union-attr]
    place = 1.0
    for text, colour, weight in options:
        axes.text(0, place, text, color=colour, weight=weight, va="top", transform=axes.transAxes, parse_math=False)
        place -= step
    axes.text(
        0, place - 0.7 * step, "\n".join(_result_lines(item)), va="top", transform=axes.transAxes, parse_math=False
    )
    handles = [
        Line2D([], [], color="#333333", linewidth=2, linestyle="-", label="true"),
        Line2D([], [], color="#333333", linewidth=2, linestyle=_DASHES, label="predicted"),
    ]
    axes.legend(handles=handles, loc="lower left", ncols=2, frameon=False, borderaxespad=0, handlelength=3)


def _result_lines(item: AnsweredItem) -> list[str]:
    record, grounding = item.record, item.record.fields["grounding"]
    if record.answered is None:
        answer = "No answer could be read."
    elif record.expected is None:
        answer = f"Answered {record.answered}; the key is withheld."
    else:
        answer = f"Answered {record.answered}: {'right' if record.answered == record.expected else 'wrong'}."
    if grounding is None:
        return [answer, *textwrap.wrap(f"Grounding unscored: {record.fields['grounding_reason']}.", _OPTION)]
    lines = [answer, f"IM-tIoU {100 * grounding['im_tiou']:.1f}, IM-vIoU {100 * grounding['im_viou']:.1f}"]
    more = len(_unmatched(item)) - SPURIOUS_SHOWN
    return [*lines, f"{more} more instances match nothing."] if more > 0 else lines


def _draw_timeline(axes: Axes, item: AnsweredItem, rows: list[_Row]) -> None:
    last = max([math.ceil(item.length) - 1, *(end for track in item.true for _, end in track.spans)])
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
        boxed = [second for second in row.track.boxes if left < second < right]
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
    axes.axvline(item.second, color="#333333", linewidth=1, linestyle=":")
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _name(row: _Row) -> str:
    # No font has a lone surrogate, which a model's JSON may spell.
    printable = row.track.name.encode("utf-8", "replace").decode("utf-8")
    name = textwrap.shorten(printable, _NAME, placeholder="…") or "no name"
    return f"{name}, {'predicted' if row.predicted else 'true'}  {row.number}"


def _matched(row: _Row) -> str:
    if not row.spans:
        return "no span of time"
    if row.match is None:
        return "matches nothing" if row.predicted else "not found"
    return f"tIoU {row.match['tiou']:.2f}  vIoU {row.match['viou']:.2f}" if row.predicted else ""
