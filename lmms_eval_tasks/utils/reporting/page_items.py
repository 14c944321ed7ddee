"""What a report page shows of one item: its clips and evidence, and what each run answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmms_eval_tasks.utils.benchmark.rows import Row
from lmms_eval_tasks.utils.evidence.boxes import Box
from lmms_eval_tasks.utils.reporting.event_graphs import EventGraph
from lmms_eval_tasks.utils.scoring.records import Record


@dataclass(frozen=True)
class InstanceTrack:
    """One instance over time.

    Attributes:
        name: What it is called.
        spans: First and last second of each evidence, both included.
        boxes: Second to box, as ``x1, y1, x2, y2`` in pixels of the clip.
    """

    name: str
    spans: tuple[tuple[int, int], ...]
    boxes: Mapping[int, Box]


@dataclass(frozen=True)
class ItemView:
    """What an item shows, whatever a run answered.

    Attributes:
        clips: What each clip is called to its name in the row, side by side; the only one may be called ``""``.
        unasked: What those clips are called that the model was not shown.
        frame: Width and height of a clip in pixels, where boxes are drawn; None where there are none.
        tracks: True evidence.
        text: What stands in place of question and options, where the model is asked something else.
        graph: What leads to what in the first clip; None where that is not known.
    """

    clips: Mapping[str, str] = field(default_factory=dict)
    unasked: tuple[str, ...] = ()
    frame: tuple[int, int] | None = None
    tracks: tuple[InstanceTrack, ...] = ()
    text: str | None = None
    graph: EventGraph | None = None


@dataclass(frozen=True)
class AnswerView:
    """What a run's answer to an item shows beside its response.

    Attributes:
        facts: Names and values, such as losses.
        tracks: Predicted evidence.
        matches: Which predicted track was matched with which true one, by their places from 0 on.
        claim: Whether it says that what a question leaves out leads to what it asks about, in the item's graph; None
            where it says nothing of that.
        curves: What each curve is called to its points, such as losses along timesteps.
        axes: What is on the horizontal and on the vertical axis of the curves.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    tracks: tuple[InstanceTrack, ...] = ()
    matches: tuple[tuple[int, int], ...] = ()
    claim: bool | None = None
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    axes: tuple[str, str] = ("", "")


def usual_item_view(row: Row, visuals: Sequence[str]) -> ItemView:
    """An item with its clips, by the columns that name them."""
    return ItemView({"": row[visuals[0]]} if len(visuals) == 1 else {column: row[column] for column in visuals})


def usual_answer_view(record: Record) -> AnswerView:
    """An answer and, where the record has it, what the official script reads in the response."""
    if "official_answered" not in record.fields:
        return AnswerView()
    return AnswerView({"official reading": record.fields["official_answered"] or "none"})
