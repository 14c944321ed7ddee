"""Views of an item on a report page: its clips, graph of events, tracks of evidence, and the answers of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmms_eval_tasks.utils.answers.evidence_boxes import Box, BoxConvention, EvidenceInstance, FrameSize
from lmms_eval_tasks.utils.answers.evidence_reading import read_evidence_answer
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.record import Record


@dataclass(frozen=True)
class EventGraph:
    """The events of an item's clip and the links between them.

    Attributes:
        events: Name of each event to what happens, in words, and when it begins, in seconds from the clip's start; None
            where that is not known.
        links: Cause and effect, by name.
        asked: The event that a question leaves out, and the one that it asks about; None where it asks of no two.
        made_up: Those events that a question speaks of and that never happen.

    Raises:
        ValueError: a link, a question or `made_up` names no event.
    """

    events: Mapping[str, tuple[str, float | None]]
    links: tuple[tuple[str, str], ...] = ()
    asked: tuple[str, str] | None = None
    made_up: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = {name for names in (*self.links, self.asked or (), self.made_up) for name in names}
        if unknown := named - self.events.keys():
            raise ValueError(f"Expected names of events, but got {', '.join(sorted(unknown))}.")

    @property
    def ordered(self) -> list[str]:
        """The events in order of time: first those that never happen, and last those of which no time is known."""

        def place(name: str) -> tuple[bool, float]:
            time = self.events[name][1]
            return name not in self.made_up, math.inf if time is None else time

        return sorted(self.events, key=place)

    @property
    def path(self) -> tuple[tuple[str, str], ...]:
        """The links by which the event that is left out leads to the one that is asked about."""
        if self.asked is None:
            return ()
        import networkx as nx

        graph = nx.DiGraph(self.links)
        graph.add_nodes_from(self.asked)
        first, last = self.asked
        after = {first, *nx.descendants(graph, first)}
        before = {last, *nx.ancestors(graph, last)}
        return tuple(link for link in self.links if link[0] in after and link[1] in before)


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
    """Parts of an item's view that do not depend on the answers of a run.

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
    """Parts of a run's answer to an item that are shown besides its response.

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
    return ItemView({"": row[visuals[0]]} if len(visuals) == 1 else {column: row[column] for column in visuals})


def usual_answer_view(record: Record) -> AnswerView:
    """An answer and, where the record has it, what the official script reads in the response."""
    if "official_answered" not in record.fields:
        return AnswerView()
    return AnswerView({"official reading": record.fields["official_answered"] or "none"})


def tracks_of(
    instances: Sequence[EvidenceInstance],
    convention: BoxConvention = BoxConvention.XYXY_PX,
    frame: FrameSize | None = None,
    seen: FrameSize | None = None,
) -> tuple[InstanceTrack, ...]:
    """Instances over time, each evidence a span; boxes that cannot be turned into pixels are left out."""
    convertible = convention.can_convert(frame, seen)
    return tuple(
        InstanceTrack(
            instance.name,
            tuple((evidence.start, evidence.end) for evidence in instance.evidences),
            instance.timeline(convention, frame, seen).boxes if convertible else {},
        )
        for instance in instances
    )


def predicted_tracks(record: Record, response: str, frame: FrameSize | None) -> tuple[InstanceTrack, ...]:
    """Tracks of what was answered, read and turned into pixels as they were when `grade_evidence` graded them.

    Args:
        record: The record.
        response: The response.
        frame: Width and height of the clip in pixels, None where unknown.
    """
    boxes = record.fields.get("boxes") or {}
    convention = BoxConvention(boxes.get("convention", BoxConvention.XYXY_PX.value))
    seen = (boxes["seen"][0], boxes["seen"][1]) if boxes.get("seen") else None
    return tracks_of(read_evidence_answer(response).instances, convention, frame, seen)


def evidence_answer_view(record: Record, response: str, frame: FrameSize | None) -> AnswerView:
    """Return the view of an answer that `grade_evidence` graded: its measures, its tracks, and what they match.

    Args:
        record: The record.
        response: The response.
        frame: Width and height of the clip in pixels, None where unknown.
    """
    grounding = record.fields.get("grounding")
    if not grounding:
        return AnswerView({"evidence": str(record.fields.get("grounding_reason") or "unscored")})
    return AnswerView(
        {
            "IM-tIoU": f"{100 * grounding['im_tiou']:.1f}",
            "IM-vIoU": f"{100 * grounding['im_viou']:.1f}",
            "supported": "yes" if grounding["supported"] else "no",
        },
        predicted_tracks(record, response, frame),
        tuple((pair["predicted"], pair["true"]) for pair in grounding["pairs"]),
    )
