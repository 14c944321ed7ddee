"""A clip with boxes blacked out over time, to see whether a question can be answered without what they hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.coding import FrameCoder
from lmms_eval_tasks.utils.data.frame_stream import FrameStream
from lmms_eval_tasks.utils.data.made_clips import ALL, DECODERS, GROUP_FRAMES, MadeClip
from lmms_eval_tasks.utils.data.pictures import from_planes, has_full_range, planes_of

NO_COLOUR = 128
QUALITY = 12
"""Better than of other made clips: the edge of a black box shows into it where it is coded with more loss."""


Box = tuple[float, float, float, float]
"""``x1, y1, x2, y2`` in pixels of the upright frame, x to the right and y downwards from its upper left corner; every
pixel that it touches is black. What leaves the frame is cut off."""
TimedBox = tuple[float, float, Box]
"""Seconds from the clip's first frame on from which a box is black, those up to which it is, and the box. A frame that
is shown from the second time on is not masked."""


def mask_boxes(clip: Path, boxes: Sequence[TimedBox], store: ClipStore) -> MadeClip:
    """A clip with boxes blacked out, and all else as it is."""
    ordered = sorted(set(boxes))
    view = {"masked": [[start, end, *box] for start, end, box in ordered]}
    if not all(map(math.isfinite, chain(*view["masked"]))):
        raise ValueError(f"Expected finite times and corners, but got {ordered}.")

    def make(path: Path) -> int:
        count = 0
        with FrameStream(clip, DECODERS) as source, FrameCoder(path, source, quality=QUALITY) as coder:
            for count, frame in enumerate(source.frames(), 1):
                second = source.seconds_of_last_frame()
                planes = planes_of(frame)
                black_out(planes, boxes_at(second, ordered), has_full_range(frame))
                coder.add(count - 1, from_planes(planes, frame), is_key=count % GROUP_FRAMES == 1)
            coder.write(range(count))
        return count

    path, count = store.find_or_make(clip, view, ".mp4", ALL, make)
    return MadeClip(path, tuple(range(count)))


def boxes_at(second: float, boxes: Iterable[TimedBox]) -> list[Box]:
    """The boxes that are black at a second."""
    return [box for start, end, box in boxes if start <= second < end]


def black_out(planes: NDArray[np.uint8], boxes: Iterable[Box], full_range: bool) -> None:
    """Blacken every pixel that a box touches, in place."""
    for box in boxes:
        rows, columns = touched_pixels(box)
        planes[0, rows, columns] = 0 if full_range else 16
        planes[1:, rows, columns] = NO_COLOUR


def touched_pixels(box: Box) -> tuple[slice, slice]:
    """Rows and columns of the pixels that a box touches; what leaves the frame at its left or top is cut off."""
    left, top, right, bottom = box
    rows = slice(max(0, math.floor(top)), max(0, math.ceil(bottom)))
    return rows, slice(max(0, math.floor(left)), max(0, math.ceil(right)))
