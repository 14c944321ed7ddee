"""What a report page shows of one item: its clips and evidence, and what each run answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.utils.evidence.boxes import Box
from lmms_eval_tasks.utils.scoring.records import Record

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ShownClip:
    """A clip beside a question.

    Attributes:
        clip: As in the prepared table.
        label: What it is, where there are several.
        asked: Whether the model was shown it.
    """

    clip: str
    label: str = ""
    asked: bool = True


@dataclass(frozen=True)
class InstanceTrack:
    """One instance over time.

    Attributes:
        name: What it is called.
        spans: First and last second of each evidence, both included.
        boxes: Second to box, in pixels of the clip.
    """

    name: str
    spans: tuple[tuple[int, int], ...]
    boxes: Mapping[int, Box]


@dataclass(frozen=True)
class ItemView:
    """What an item shows, whatever a run answered.

    Attributes:
        clips: Its clips, side by side.
        frame: Width and height of a clip in pixels, where boxes are drawn.
        tracks: True evidence.
        text: What stands in place of question and options, where the model is asked something else.
    """

    clips: tuple[ShownClip, ...]
    frame: tuple[int, int] | None = None
    tracks: tuple[InstanceTrack, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class AnswerView:
    """What a run's answer to an item shows beside its response.

    Attributes:
        facts: Names and values, such as losses.
        tracks: Predicted evidence.
        matches: Which predicted track was matched with which true one, by their places.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    tracks: tuple[InstanceTrack, ...] = ()
    matches: tuple[tuple[int, int], ...] = ()


def clip_view(record: Record, row: Row) -> ItemView:
    """An item with one clip."""
    return ItemView((ShownClip(row["clip"]),))


def official_reading(record: Record, row: Row, response: str) -> AnswerView:
    """What the official script reads in a response to a multiple-choice question."""
    return AnswerView({"official reading": record.fields.get("official_answered") or "none"})
