"""The pictures of a clip that models are shown: whole seconds of it, an instance outlined, followed or left sharp."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from lmms_eval_tasks.build.cast_bench.rows import PixelBox
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.made import TimedBox, boxes_at, touched_pixels
from lmms_eval_tasks.utils.data.pictures import as_jpeg

Picture = NDArray[np.uint8]
"""(H, W, 3) RGB."""

OUTLINE = (255, 0, 0)
BLUR = 0.03
"""Radius of the blur, in longer sides of the picture."""
PADDING = 0.25
"""On each side of a crop, in sides of the largest box."""
SMALLEST_CROP = 32


def spread_seconds(seconds: Sequence[int], most: int) -> list[int]:
    """So many of the seconds at most, evenly spread from the first to the last."""
    if len(seconds) <= most:
        return list(seconds)
    if most == 1:
        return [seconds[len(seconds) // 2]]
    return [seconds[round(place * (len(seconds) - 1) / (most - 1))] for place in range(most)]


def picture_at(clip: Path, second: int) -> Picture:
    """Return the picture of a clip at a second."""
    reader = PyavFrames(clip, threads=1)
    picture: Picture = reader.read([reader.number_at(second)])[0]
    return picture


def jpegs_at(clip: Path, seconds: Sequence[int], side: int, change: Callable[[int, Picture], Picture]) -> list[bytes]:
    """Return the pictures of a clip at whole seconds as JPEG files; only one picture is in memory at a time."""
    reader = PyavFrames(clip, threads=1)
    return [as_jpeg(change(second, reader.read([reader.number_at(second)])[0]), side) for second in seconds]


def outline(picture: Picture, box: PixelBox) -> Picture:
    """A picture with a line around a box, outside of it where there is room."""
    image = Image.fromarray(picture)
    thick = max(1, round(max(image.size) / 200))
    left, top, right, bottom = box
    edges = (left - thick, top - thick, right - 1 + thick, bottom - 1 + thick)
    ImageDraw.Draw(image).rectangle(edges, outline=OUTLINE, width=thick)
    return np.asarray(image)


def blur_around(picture: Picture, box: PixelBox) -> Picture:
    """A picture of which all but a box is blurred."""
    image = Image.fromarray(picture)
    blurred = np.array(image.filter(ImageFilter.GaussianBlur(max(2.0, BLUR * max(image.size)))))
    left, top, right, bottom = box
    blurred[top:bottom, left:right] = picture[top:bottom, left:right]
    return blurred


def crop_side(boxes: Mapping[int, PixelBox]) -> int:
    """The side of all crops that follow an instance, which so keeps its scale: its largest box's and `PADDING`."""
    largest = max((max(x2 - x1, y2 - y1) for x1, y1, x2, y2 in boxes.values()), default=0)
    return max(SMALLEST_CROP, round(largest * (1 + 2 * PADDING)))


def crop_around(picture: Picture, box: PixelBox, side: int) -> Picture:
    """A square crop that has a box in its middle, black where it leaves the frame."""
    x1, y1, x2, y2 = box
    left, top = (x1 + x2 - side) // 2, (y1 + y2 - side) // 2
    height, width = picture.shape[:2]
    rows, columns = slice(max(0, top), min(height, top + side)), slice(max(0, left), min(width, left + side))
    crop = np.zeros((side, side, 3), dtype=np.uint8)
    crop[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = picture[rows, columns]
    return crop


def blacken(picture: Picture, second: float, boxes: Iterable[TimedBox]) -> Picture:
    """A picture of a second with every pixel black that a box of that time touches."""
    masked: Picture = picture.copy()
    for box in boxes_at(second, boxes):
        masked[touched_pixels(box)] = 0
    return masked
