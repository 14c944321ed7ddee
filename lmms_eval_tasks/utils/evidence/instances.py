"""Instances, the people and things in a clip, with the evidence about them: spans of time, and boxes in their
seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmms_eval_tasks.utils.evidence.boxes import Box, BoxConvention, FrameSize, box_area, has_area, to_pixels


@dataclass(frozen=True, slots=True)
class Evidence:
    """One span of time in which an instance can be seen."""

    start: int
    end: int
    seconds: tuple[int, ...]
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """An instance over time."""

    start: int
    end: int
    boxes: Mapping[int, Box]


@dataclass(frozen=True, slots=True)
class EvidenceInstance:
    """A person or thing in a clip, with the evidence about it.

    Attributes:
        name: What it is called; empty where an answer does not say.
        evidences: Spans of whole seconds, both ends included, each with its boxes as they were written.
    """

    name: str
    evidences: tuple[Evidence, ...]

    def timeline(
        self,
        convention: BoxConvention = BoxConvention.XYXY_PX,
        frame: FrameSize | None = None,
        seen: FrameSize | None = None,
    ) -> Timeline:
        """Its evidences merged into one.

        The span runs from the earliest start to the latest end. A box counts when its second lies within its own
        evidence's span; where several evidences give a second a box, the largest counts, the first among equals.

        Args:
            convention: How the boxes are written.
            frame: Width and height of the clip in pixels.
            seen: Width and height of the frame that the model was shown.

        Raises:
            ValueError: where the convention needs a size that is not given.
        """
        boxes: dict[int, Box] = {}
        for evidence in self.evidences:
            for second, written in zip(evidence.seconds, evidence.boxes, strict=True):
                if not evidence.start <= second <= evidence.end:
                    continue
                box = to_pixels(written, convention, frame, seen)
                if box is None or not has_area(box):
                    continue
                if second not in boxes or box_area(box) > box_area(boxes[second]):
                    boxes[second] = box
        return Timeline(
            start=min((evidence.start for evidence in self.evidences), default=0),
            end=max((evidence.end for evidence in self.evidences), default=-1),
            boxes=dict(sorted(boxes.items())),
        )
