"""Selection of clips in which several people act separately, by measures and then by a model, and pictures of them.

Source: CaST-Bench, supplement, 10.1. The measures of cuts, shake and blur, their limits and the wording are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter
from scipy import fft, ndimage

from lmms_eval_tasks.construct.cast_bench.rows import CastBenchConfig, ClipRow, PixelBox
from lmms_eval_tasks.construct.engine.steps import Asking, Form, Removed, step
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.data.clips import FrameStream, PyavFrames
from lmms_eval_tasks.utils.data.made import TimedBox, boxes_at, touched_pixels
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip

SELECTOR = "selector"
LEAST_INSTANCES = 2


@step("clips by measure")
def measure_clips(row: ClipRow, asking: Asking, config: CastBenchConfig) -> ClipRow:
    if sum(bool(one.boxes) for one in row.instances) < LEAST_INSTANCES:
        raise Removed("fewer than two instances in the tracks", row.clip)
    if not row.width:
        raise Removed("unreadable clip", row.clip)
    try:
        with asking.heavy():
            measures = measure_clip(config.clips / row.clip)
    except UnreadableClip as error:
        raise Removed("unreadable clip", row.clip) from error
    if measures.shake > config.largest_shake:
        raise Removed("camera shake", f"a shake of {measures.shake:.4f}")
    if measures.jump > config.largest_jump:
        raise Removed("cut", f"a jump of {measures.jump:.3f}")
    if measures.blur > config.largest_blur:
        raise Removed("blur", f"a blur of {measures.blur:.3f}")
    return row


WIDTH = 160
"""Pixels of a picture's width in which jumps and shifts are measured."""
SHARP_WIDTH = 640
"""Pixels of width in which blur is measured, at most."""
RATE = 8.0
"""Frames a second of which shifts are measured, at most."""
LEAST_TEXTURE = 0.01
"""Standard deviation of brightness, 0 to 1, from which on shifts are measured."""
REBLUR = 9

Grey = NDArray[np.floating[Any]]
"""(H, W) of brightness."""


class ClipMeasures(NamedTuple):
    jump: float
    shake: float
    blur: float


def measure_clip(path: Path) -> ClipMeasures:
    steps: list[float] = []
    shifts: list[tuple[float, float]] = []
    blurs: list[float] = []
    before: Grey | None = None
    spectrum: Any = None
    with FrameStream(path) as stream:
        rate = stream.fps or RATE
        stride, a_second = max(1, round(rate / RATE)), max(1, round(rate))
        size: tuple[int, int] | None = None
        for number, frame in enumerate(stream.frames()):
            size = size or (WIDTH, max(2, min(4 * WIDTH, round(WIDTH * frame.height / frame.width))))
            picture = stream.pixels(frame, "gray", size).astype(np.float32) / 255
            if before is not None:
                steps.append(float(np.abs(picture - before).mean()))
            before = picture
            if number % stride == 0:
                # A picture without texture moves nowhere that could be seen.
                latest = fft.rfft2(_windowed(picture)) if picture.std() > LEAST_TEXTURE else None
                if spectrum is not None and latest is not None:
                    shifts.append(_shift(spectrum, latest, picture.shape))
                spectrum = latest
            if number % a_second == 0:
                width = min(SHARP_WIDTH, frame.width)
                sharp = stream.pixels(frame, "gray", (width, max(2, round(width * frame.height / frame.width))))
                blurs.append(blur_of(sharp.astype(np.float32)))
    # A step that those before and after it do not have, and how much a shift changes from one to the next.
    padded = [0.0, *steps, 0.0]
    jumps = (padded[place] - max(padded[place - 1], padded[place + 1]) for place in range(1, len(padded) - 1))
    changes = np.diff(np.array(shifts), axis=0) if len(shifts) > 1 else np.zeros((1, 2))
    shake = float(np.quantile(np.hypot(changes[:, 0], changes[:, 1]), 0.75))
    return ClipMeasures(max(0.0, *jumps) if steps else 0.0, shake, median(blurs))


def blur_of(picture: Grey) -> float:
    """Return how little a grey picture, (H, W), changes when it is blurred again: 0 is sharp, 1 has no edge at all."""
    blurs = []
    for axis in (0, 1):
        blurred = ndimage.uniform_filter1d(picture, REBLUR, axis=axis)
        edges, left = np.abs(np.diff(picture, axis=axis)), np.abs(np.diff(blurred, axis=axis))
        total = float(edges.sum())
        blurs.append(1.0 - float(np.maximum(0, edges - left).sum()) / total if total else 1.0)
    return max(blurs)


def _windowed(picture: Grey) -> Grey:
    rows, columns = (np.hanning(length).astype(np.float32) for length in picture.shape)
    faded: Grey = (picture - picture.mean()) * rows[:, None] * columns[None, :]
    return faded


def _shift(before: Any, after: Any, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return by how much a picture moved down and to the right, in widths, from two spectra."""
    product = after * np.conj(before)
    height, width = shape
    peaks = fft.irfft2(product / np.maximum(np.abs(product), 1e-9), s=(height, width))
    row, column = np.unravel_index(int(np.argmax(peaks)), (height, width))
    down, right = (
        int(place) - length if place > length // 2 else int(place) for place, length in ((row, height), (column, width))
    )
    return down / width, right / width


class ClipVerdict(Form):
    several_people_act_apart: bool
    shaken: bool
    whip_pans: bool
    tilted: bool
    badly_lit: bool
    cut: bool
    blurred: bool


FAULTS = {
    "shaken": "camera shake",
    "whip_pans": "whip pans",
    "tilted": "tilt",
    "badly_lit": "bad light",
    "cut": "cut",
    "blurred": "blur",
}


@step(
    "clip selection", asks=[SELECTOR], paper="1,015",
    requests=1, characters=1000, images=14, reply_tokens=60,
)  # fmt: skip
def select_clips(row: ClipRow, asking: Asking, config: CastBenchConfig) -> ClipRow:
    seconds = spread_seconds(range(row.last + 1), config.frames)
    images = clip_images(row, seconds, config, asking)
    verdict = asking.ask(
        SELECTOR, "cast_bench_selection", ClipVerdict, images, seconds=[clock(second) for second in seconds]
    )
    if not verdict.several_people_act_apart:
        raise Removed("model: no several people who act apart", row.clip)
    for name, fault in FAULTS.items():
        if getattr(verdict, name):
            raise Removed(f"model: {fault}", row.clip)
    return row


Picture = NDArray[np.uint8]
"""(H, W, 3) RGB."""
Change = Callable[[int, Picture], Picture]
"""Changes the picture of a second."""


def clip_images(
    row: ClipRow, seconds: Sequence[int], config: CastBenchConfig, asking: Asking, *changes: Change
) -> list[bytes]:
    """Return the pictures of a clip at some seconds as JPEG files, each once for every change."""
    try:
        with asking.heavy():
            reader = PyavFrames(config.clips / row.clip, threads=1)
            # Only one picture is in memory at a time.
            pictures = ((second, reader.read([reader.number_at(second)])[0]) for second in seconds)
            return [
                as_jpeg(change(second, picture), config.side)
                for second, picture in pictures
                for change in changes or (lambda _, picture: picture,)
            ]
    except UnreadableClip as error:
        raise Removed("unreadable clip", row.clip) from error


def spread_seconds(seconds: Sequence[int], most: int) -> list[int]:
    """Return so many of the seconds at most, evenly spread from the first to the last."""
    if len(seconds) <= most:
        return list(seconds)
    if most == 1:
        return [seconds[len(seconds) // 2]]
    return [seconds[round(place * (len(seconds) - 1) / (most - 1))] for place in range(most)]


OUTLINE = (255, 0, 0)
BLUR = 0.03
"""Radius of the blur, in longer sides of the picture."""
PADDING = 0.25
"""On each side of a crop, in sides of the largest box."""
SMALLEST_CROP = 32


def outline(picture: Picture, box: PixelBox) -> Picture:
    image = Image.fromarray(picture)
    thick = max(1, round(max(image.size) / 200))
    left, top, right, bottom = box
    edges = (left - thick, top - thick, right - 1 + thick, bottom - 1 + thick)
    ImageDraw.Draw(image).rectangle(edges, outline=OUTLINE, width=thick)
    return np.asarray(image)


def blur_around(picture: Picture, box: PixelBox) -> Picture:
    image = Image.fromarray(picture)
    blurred = np.array(image.filter(ImageFilter.GaussianBlur(max(2.0, BLUR * max(image.size)))))
    left, top, right, bottom = box
    blurred[top:bottom, left:right] = picture[top:bottom, left:right]
    return blurred


def crop_side(boxes: Mapping[int, PixelBox]) -> int:
    """Return the side of all crops that follow an instance, so that it keeps its scale."""
    largest = max((max(x2 - x1, y2 - y1) for x1, y1, x2, y2 in boxes.values()), default=0)
    return max(SMALLEST_CROP, round(largest * (1 + 2 * PADDING)))


def crop_around(picture: Picture, box: PixelBox, side: int) -> Picture:
    """Return a square crop that has a box in its middle, black where it leaves the frame."""
    x1, y1, x2, y2 = box
    left, top = (x1 + x2 - side) // 2, (y1 + y2 - side) // 2
    height, width = picture.shape[:2]
    rows, columns = slice(max(0, top), min(height, top + side)), slice(max(0, left), min(width, left + side))
    crop = np.zeros((side, side, 3), dtype=np.uint8)
    crop[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = picture[rows, columns]
    return crop


def blacken(picture: Picture, second: float, boxes: Iterable[TimedBox]) -> Picture:
    """Return a picture of a second with every pixel black that a box of that time touches."""
    masked: Picture = picture.copy()
    for box in boxes_at(second, boxes):
        masked[touched_pixels(box)] = 0
    return masked
