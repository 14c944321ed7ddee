"""Boxes and timed instances of evidence: conventions of boxes, the official reading, overlap, and shown frame sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

Box = tuple[float, float, float, float]
FrameSize = tuple[int, int]
"""Width and height in pixels."""

_HUGE = 1e150


class BoxConvention(str, Enum):
    """Convention by which a model writes a box: the order of its corners and the unit of its numbers."""

    XYXY_PX = "xyxy_px"
    YXYX_PX = "yxyx_px"
    XYXY_N1000 = "xyxy_n1000"
    """Thousandths of the frame's width and height."""
    YXYX_N1000 = "yxyx_n1000"
    XYXY_RESIZED = "xyxy_resized"
    """Pixels of the resized frame that the model was shown (Qwen2.5-VL)."""

    @property
    def normalised(self) -> bool:
        return self in (BoxConvention.XYXY_N1000, BoxConvention.YXYX_N1000)

    @property
    def y_first(self) -> bool:
        return self in (BoxConvention.YXYX_PX, BoxConvention.YXYX_N1000)

    def can_convert(self, frame: FrameSize | None, seen: FrameSize | None = None) -> bool:
        if self is BoxConvention.XYXY_RESIZED:
            return frame is not None and seen is not None
        return not self.normalised or frame is not None


def official_box(value: object) -> Box | None:
    """One box as ``parse_box`` of the official code reads it, None where that code drops it.

    A list or tuple of four, or the text ``"[a, b, c, d]"``; each entry whatever ``float`` takes, NaN and infinity
    included. A box without width or height, or with its corners reversed, is dropped.

    Source: CaST-Bench-Evaluation@a216491, `metrics_core.py`.
    """
    parts: Sequence[Any]
    if isinstance(value, str):
        text = value.strip()
        if text[:1] != "[" or text[-1:] != "]":
            return None
        parts = text[1:-1].split(",", 4)
    elif isinstance(value, (list, tuple)):  # a union would be built anew for each of a run's million boxes
        parts = value
    else:
        return None
    try:
        left, top, right, bottom = parts
        x1, y1, x2, y2 = float(left), float(top), float(right), float(bottom)
    except (TypeError, ValueError, OverflowError):
        return None
    box = (x1, y1, x2, y2)
    return box if has_area(box) else None


def box_area(box: Box) -> float:
    """Area in square pixels, 0 along a side that is reversed or NaN."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def is_finite(box: Box) -> bool:
    """Whether a box has a positive size and no NaN, infinity or number so large that its area would be infinite."""
    x1, y1, x2, y2 = box
    return -_HUGE < x1 < x2 < _HUGE and -_HUGE < y1 < y2 < _HUGE


def has_area(box: Box) -> bool:
    """Whether the official code keeps a box: its corners are neither equal nor reversed (NaN is neither)."""
    return not (box[2] <= box[0] or box[3] <= box[1])


def to_pixels(
    box: Box, convention: BoxConvention, frame: FrameSize | None = None, seen: FrameSize | None = None
) -> Box | None:
    """A box as a model wrote it, in pixels of the clip's frame.

    Follows ``apply_bbox_format`` of the official evaluator to the digit: ``xyxy_px`` stays as it is, the other three
    official conventions end in whole pixels (normalised numbers rounded half to even, pixels cut). ``xyxy_resized``,
    which that code does not know, is scaled and not rounded. That code takes a clip of unknown size for 1920 × 1080;
    here the size must be given: of the clip as `frame`, and of the frame that the model was shown as `seen`.

    None where the official code stops at a number that is not finite; ValueError where a size is needed and missing.
    """
    if convention is BoxConvention.XYXY_PX:
        return box
    if not convention.can_convert(frame, seen):
        raise ValueError(f"Expected the size of the frame to convert {convention.value} boxes but got None.")
    order = (1, 0, 3, 2) if convention.y_first else (0, 1, 2, 3)
    scale: tuple[float, float] = (1, 1)
    unit = 1
    whole: Callable[[float], float] = math.trunc
    if convention is BoxConvention.XYXY_RESIZED:
        assert frame and seen
        scale, whole = (frame[0] / seen[0], frame[1] / seen[1]), float
    elif convention.normalised:
        assert frame
        scale, unit, whole = frame, 1000, round
    pixels = [box[place] * scale[axis % 2] / unit for axis, place in enumerate(order)]
    if not all(map(math.isfinite, pixels)):
        return None
    x1, y1, x2, y2 = (float(whole(edge)) for edge in pixels)
    return x1, y1, x2, y2


def box_iou(box: Box, true: Box) -> float:
    """Intersection over union of a box and a true box, both with an area, 0-1; a box with a NaN overlaps nothing.

    Source: ``iou2d`` of the official `metrics_core.py`, in the same order of operations.
    """
    # In this order a NaN of `box` comes out of min and max, which keep their first argument.
    width = min(box[2], true[2]) - max(box[0], true[0])
    height = min(box[3], true[3]) - max(box[1], true[1])
    if not (width > 0 and height > 0):
        return 0.0
    intersection = width * height
    union = (box[2] - box[0]) * (box[3] - box[1]) + (true[2] - true[0]) * (true[3] - true[1]) - intersection
    return intersection / union if intersection > 0 and union > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    start: int
    end: int
    seconds: tuple[int, ...]
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
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
        """Its evidences merged into one, in pixels of the clip; the arguments are those of `to_pixels`.

        The span runs from the earliest start to the latest end. A box counts when its second lies within its own
        evidence's span; where several evidences give a second a box, the largest counts, the first among equals.
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


FACTOR = 28
"""Both sides of a frame shown to Qwen2.5-VL are multiples of this."""
MOST_FRAME_PIXELS = 768 * FACTOR**2
"""qwen-vl-utils shows no larger frame of a video, unless the least size is larger."""
MOST_FRAMES = 300
"""With more frames qwen-vl-utils makes each of them smaller, so that all fit the model's context."""
DEFAULT_RATE = 2.0
"""Frames per second that qwen-vl-utils takes where nothing else is asked for."""


@dataclass(frozen=True)
class PixelLimits:
    """Least and largest number of pixels of a frame that a Qwen2.5-VL adapter shows to its model."""

    least: int
    most: int


def qwen_limits(model: object) -> PixelLimits | None:
    """The limits of lmms-eval's Qwen2.5-VL adapter, from its settings; None where the model has no such settings, or so
    many frames that their size depends on the clip's length.

    Source: ``fetch_video`` of qwen-vl-utils 0.0.14, and lmms-eval's `qwen2_5_vl` adapters, which pass it their
    ``min_pixels`` and ``max_pixels``.
    """
    least, most = getattr(model, "min_pixels", None), getattr(model, "max_pixels", None)
    frames, rate = getattr(model, "max_num_frames", None), getattr(model, "fps", None)
    if not isinstance(least, int) or not isinstance(most, int):
        return None
    if not isinstance(frames, int) or frames > MOST_FRAMES or (rate is not None and rate > DEFAULT_RATE):
        return None
    return PixelLimits(least, min(most, max(MOST_FRAME_PIXELS, int(1.05 * least))))


def shown_frame(frame: FrameSize, limits: PixelLimits) -> FrameSize | None:
    """Width and height of the frame that the model was shown, None where no frame of that shape can be."""
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

    try:
        height, width = smart_resize(frame[1], frame[0], FACTOR, limits.least, limits.most)
    except ValueError:  # sides that differ by more than 200 times
        return None
    return int(width), int(height)
