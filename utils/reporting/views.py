"""What a report page shows of one item: its clips and evidence, and what each run answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lmms_eval_tasks.utils.evidence.boxes import Box
from lmms_eval_tasks.utils.reporting.panels import Panel, Shown
from lmms_eval_tasks.utils.scoring.records import Record

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Clip:
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
class Lane:
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
        lanes: True evidence.
        text: What stands in place of question and options, where the model is asked something else.
    """

    clips: tuple[Clip, ...]
    frame: tuple[int, int] | None = None
    lanes: tuple[Lane, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class AnswerView:
    """What a run's answer to an item shows beside its response.

    Attributes:
        facts: Names and values, such as losses.
        lanes: Predicted evidence.
        matches: Which predicted lane was matched with which true one, by their places.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    matches: tuple[tuple[int, int], ...] = ()


class Pages(Protocol):
    """What the module `panels` of a benchmark holds."""

    def panels(self, task: str, runs: Sequence[Shown]) -> list[Panel]:
        """The benchmark's panels of a task or group, in their order."""

    def split(self, task: str) -> str:
        """The split whose prepared table holds a task's items."""

    def row_id(self, task: str, item_id: str) -> str:
        """The prepared row that an item was made from."""

    def item_view(self, task: str, record: Record, row: Row) -> ItemView:
        """What an item shows, from its record in any run and its prepared row."""

    def answer_view(self, task: str, record: Record, row: Row, response: str) -> AnswerView:
        """What a run's answer shows."""
