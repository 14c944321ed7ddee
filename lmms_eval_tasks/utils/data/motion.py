"""The amount of motion in a clip, and its symmetry between beginning and end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.data.clips import FrameStream
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Step = Callable[[NDArray[np.uint8], NDArray[np.uint8]], float]

WIDTH = 160
TALLEST = 640
"""The most pixels of height at that width: a picture four times as tall as it is wide; a taller one is made so."""
MOST_FRAMES = 1e9
RATE = 8.0
SHARE = 0.3
DIGITS = 6


@dataclass(frozen=True)
class ClipMotion:
    """Motion in a clip.

    Attributes:
        frames: Number of frames.
        fps: Average frame rate.
        magnitude: Mean of the steps, per second; None for fewer than two frames.
        symmetry: 1 where as much moves at every time as at its mirror image in time, 0 where everything moves in one
            half; None for fewer than two steps.
    """

    frames: int
    fps: float
    magnitude: float | None
    symmetry: float | None


def frame_difference(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Mean absolute difference of two grey pictures, 0 to 255, as a step of motion."""
    import numpy as np

    return float(np.abs(after.astype(np.int16) - before).mean())


def measure_motion(path: Path, step: Step = frame_difference, seconds: float | None = None) -> ClipMotion | None:
    """Measure a clip, or its first seconds; None where it cannot be decoded to its end.

    Args:
        path: The clip.
        step: What moves between two grey pictures of uint8, 160 pixels wide; by default their mean absolute difference,
            0 to 255.
        seconds: How much of it counts; all by default.
    """
    curve: list[float] = []
    previous: NDArray[np.uint8] | None = None
    frames = height = 0
    try:
        with FrameStream(path) as stream:
            fps = stream.fps
            if fps <= 0:
                return None
            limit = None if seconds is None else max(1, round(min(seconds * fps, MOST_FRAMES)))
            stride = max(1, round(fps / RATE))
            # As stored: the width that magnitudes are measured in is that of the stored picture.
            for frame in stream.frames(as_stored=True):
                if frames == limit:
                    break
                if frames % stride == 0:
                    # A frame of another size than the first is made as large, for steps are between equal pictures.
                    height = height or min(TALLEST, max(2, round(WIDTH * frame.height / frame.width)))
                    picture = stream.pixels(frame, "gray", (WIDTH, height))
                    if previous is not None:
                        curve.append(step(previous, picture) * fps / stride)
                    previous = picture
                frames += 1
    except UnreadableClip:
        return None
    magnitude = round(math.fsum(curve) / len(curve), DIGITS) if curve else None
    return ClipMotion(frames, round(fps, DIGITS), magnitude, symmetry(curve))


def symmetry(curve: Sequence[float]) -> float | None:
    """1 less the share of the movement that differs between mirror-image times, 0 to 1; None for fewer than two values.

    For magnitudes m of T steps it is ``1 - sum |m[t] - m[T-1-t]| / sum (m[t] + m[T-1-t])``; 1 where nothing moves. Of
    the magnitudes of two clips it says how equal their motion is.
    """
    if len(curve) < 2:
        return None
    mirrored = list(reversed(curve))
    total = math.fsum(curve) * 2
    if total == 0:
        return 1.0
    difference = math.fsum(abs(value - mirror) for value, mirror in zip(curve, mirrored, strict=True))
    return round(1.0 - difference / total, DIGITS)


def most_symmetric(symmetries: Mapping[str, float | None], share: float = SHARE) -> set[str]:
    """The items with the highest symmetry, `share` of those that have one, rounded up; equal ones by their id."""
    ordered = sorted((-value, name) for name, value in symmetries.items() if value is not None)
    return {name for _, name in ordered[: math.ceil(share * len(ordered))]}
