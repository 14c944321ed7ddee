"""Cuts, shake and blur of a clip, measured on its frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

from lmms_eval_tasks.utils.data.clips import FrameStream

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


@dataclass(frozen=True)
class ClipMeasures:
    """Measurements of a clip."""

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
    return ClipMeasures(_jump(steps), _shake(shifts), median(blurs))


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
    """A picture without its mean, which fades out towards its edges."""
    rows, columns = (np.hanning(length).astype(np.float32) for length in picture.shape)
    faded: Grey = (picture - picture.mean()) * rows[:, None] * columns[None, :]
    return faded


def _shift(before: Any, after: Any, shape: tuple[int, ...]) -> tuple[float, float]:
    """By how much a picture moved down and to the right, in widths, from two spectra."""
    product = after * np.conj(before)
    height, width = shape
    peaks = fft.irfft2(product / np.maximum(np.abs(product), 1e-9), s=(height, width))
    row, column = np.unravel_index(int(np.argmax(peaks)), (height, width))
    down, right = (
        int(place) - length if place > length // 2 else int(place) for place, length in ((row, height), (column, width))
    )
    return down / width, right / width


def _jump(steps: Sequence[float]) -> float:
    padded = [0.0, *steps, 0.0]
    alone = (padded[place] - max(padded[place - 1], padded[place + 1]) for place in range(1, len(padded) - 1))
    return max(0.0, *alone) if steps else 0.0


def _shake(shifts: Sequence[tuple[float, float]]) -> float:
    if len(shifts) < 2:
        return 0.0
    changes = np.diff(np.array(shifts), axis=0)
    return float(np.quantile(np.hypot(changes[:, 0], changes[:, 1]), 0.75))
