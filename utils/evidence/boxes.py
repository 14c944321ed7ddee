"""Boxes: the official reading of one box, the conventions in which models answer, and intersection over union.

A box is ``(x1, y1, x2, y2)`` in pixels of the clip's frame once converted; x grows to the right, y downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
Frame = tuple[int, int]
"""Width and height in pixels."""
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_HUGE = 1e150


class Convention(str, Enum):
    """How a model writes a box: the order of its corners and the unit of its numbers."""

    XYXY_PX = "xyxy_px"
    YXYX_PX = "yxyx_px"
    XYXY_N1000 = "xyxy_n1000"
    """Thousandths of the frame's width and height."""
    YXYX_N1000 = "yxyx_n1000"
    XYXY_RESIZED = "xyxy_resized"
    """Pixels of the resized frame that the model was shown (Qwen2.5-VL)."""

    @property
    def normalised(self) -> bool:
        """Whether its numbers are thousandths of the frame."""
        return self in (Convention.XYXY_N1000, Convention.YXYX_N1000)

    @property
    def y_first(self) -> bool:
        """Whether its corners are written ``y, x``."""
        return self in (Convention.YXYX_PX, Convention.YXYX_N1000)

    def can_convert(self, frame: Frame | None, seen: Frame | None = None) -> bool:
        """Whether `to_pixels` has the sizes that this convention needs."""
        if self is Convention.XYXY_RESIZED:
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
    return None if x2 <= x1 or y2 <= y1 else (x1, y1, x2, y2)


def box_area(box: Box) -> float:
    """Area in square pixels, 0 along a side that is reversed or NaN."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def is_finite(box: Box) -> bool:
    """Whether a box has a positive size and no NaN, infinity or number so large that its area would be infinite."""
    x1, y1, x2, y2 = box
    return -_HUGE < x1 < x2 < _HUGE and -_HUGE < y1 < y2 < _HUGE


def has_area(boxes: Floats) -> Bools:
    """Which boxes the official code keeps: those whose corners are neither equal nor reversed (NaN is neither).

    Args:
        boxes: (K, 4).

    Returns:
        (K,).
    """
    return ~((boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1]))


def to_pixels(
    boxes: Floats, convention: Convention, frames: Floats | None = None, seen: Floats | None = None
) -> Floats:
    """Boxes as a model wrote them, in pixels of the clip's frame.

    Follows ``apply_bbox_format`` of the official evaluator to the digit: ``xyxy_px`` stays as it is, the other three
    official conventions end in whole pixels (normalised numbers rounded half to even, pixels cut). ``xyxy_resized``,
    which that code does not know, is scaled and not rounded. Where that code stops at a number that is not finite, the
    box becomes NaN. It takes a clip of unknown size for 1920 × 1080; here the size must be given.

    Args:
        boxes: (K, 4) as written.
        convention: How they are written.
        frames: (K, 2) or (2,), width and height of the clip in pixels.
        seen: (K, 2) or (2,), width and height of the frame that the model was shown.

    Returns:
        (K, 4) in pixels, ``x1, y1, x2, y2``.

    Raises:
        ValueError: where the convention needs a size that is not given.
    """
    if convention is Convention.XYXY_PX:
        return boxes
    if convention.y_first:
        boxes = boxes[:, [1, 0, 3, 2]]
    with np.errstate(all="ignore"):
        if convention is Convention.XYXY_RESIZED:
            scale = _size(frames, convention) / _size(seen, convention)
            pixels = boxes * np.concatenate([scale, scale], axis=-1)
        elif convention.normalised:
            size = _size(frames, convention)
            pixels = np.rint(boxes * np.concatenate([size, size], axis=-1) / 1000)
        else:
            pixels = np.trunc(boxes)
        return np.where(np.isfinite(pixels).all(axis=1, keepdims=True), pixels, np.nan)


def _size(size: Floats | None, convention: Convention) -> Floats:
    if size is None:
        raise ValueError(f"Expected the size of the frame to convert {convention.value} boxes but got None.")
    return size


def box_iou(boxes: Floats, truth: Floats) -> Floats:
    """Intersection over union of boxes with the true boxes beside them.

    Args:
        boxes: (..., 4) in pixels, of positive size; a box with a NaN overlaps nothing.
        truth: (..., 4) in pixels, finite and of positive size; the leading shapes broadcast.

    Returns:
        (...), in 0-1.

    Source: ``iou2d`` of the official `metrics_core.py`, in the same order of operations.
    """
    with np.errstate(all="ignore"):
        sides = np.minimum(boxes[..., 2:], truth[..., 2:]) - np.maximum(boxes[..., :2], truth[..., :2])
        intersection = np.where((sides > 0).all(axis=-1), sides[..., 0] * sides[..., 1], 0.0)
        first, second = boxes[..., 2:] - boxes[..., :2], truth[..., 2:] - truth[..., :2]
        union = first[..., 0] * first[..., 1] + second[..., 0] * second[..., 1] - intersection
        iou = np.where((intersection > 0) & (union > 0), intersection / union, 0.0)
    return np.asarray(iou, dtype=np.float64)
