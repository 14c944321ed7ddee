"""How much moves in a clip, and whether as much moves at its end as at its beginning.

Optical flow after Farnebäck (2003), by OpenCV, between frames about 1/8 s apart, 160 pixels wide. The paper's check
takes the clips whose optical-flow magnitude is most symmetric over time; the formula of that symmetry here is ours.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.api import Progress, no_progress
from lmms_eval_tasks.api.clips import FrameStream
from lmms_eval_tasks.api.release import UnreadableClip

WIDTH = 160
TALLEST = 640
"""The most pixels of height at that width: a picture four times as tall as it is wide; a taller one is made so."""
MOST_FRAMES = 1e9
RATE = 8.0
SHARE = 0.3
DIGITS = 6


@dataclass(frozen=True)
class ClipMotion:
    """What moves in a clip.

    Attributes:
        frames: Number of frames.
        fps: Average frame rate.
        magnitude: Mean length of the flow, in widths of the picture per second; None for fewer than two frames.
        symmetry: 1 where as much moves at every time as at its mirror image in time, 0 where everything moves in one
            half; None for fewer than two steps of flow.
    """

    frames: int
    fps: float
    magnitude: float | None
    symmetry: float | None


def measure_motion(path: Path, seconds: float | None = None) -> ClipMotion | None:
    """Measure a clip, or its first seconds; None where it cannot be decoded to its end."""
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
                    # A frame of another size than the first is made as large, for flow is between equal pictures.
                    height = height or min(TALLEST, max(2, round(WIDTH * frame.height / frame.width)))
                    picture = stream.pixels(frame, "gray", (WIDTH, height))
                    if previous is not None:
                        curve.append(_flow(previous, picture) * fps / stride)
                    previous = picture
                frames += 1
    except UnreadableClip:
        return None
    magnitude = round(math.fsum(curve) / len(curve), DIGITS) if curve else None
    return ClipMotion(frames, round(fps, DIGITS), magnitude, symmetry(curve))


def symmetry(curve: Sequence[float]) -> float | None:
    """1 less the share of the movement that differs between mirror-image times, 0 to 1; None for fewer than two values.

    For magnitudes m of T steps it is ``1 - sum |m[t] - m[T-1-t]| / sum (m[t] + m[T-1-t])``; 1 where nothing moves.
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
    """The clips with the highest symmetry, `share` of those that have one, rounded up; equal ones by their id."""
    ordered = sorted((-value, name) for name, value in symmetries.items() if value is not None)
    return {name for _, name in ordered[: math.ceil(share * len(ordered))]}


def measure_all(
    paths: Sequence[Path], seconds: float | None = None, progress: Progress = no_progress
) -> Iterator[ClipMotion | None]:
    """Measure clips, in their order, several at once."""
    workers = max(1, min(8, os.cpu_count() or 1))
    with ThreadPoolExecutor(workers, thread_name_prefix="motion") as pool:
        for done, motion in enumerate(pool.map(lambda path: measure_motion(path, seconds), paths), 1):
            progress("measuring motion", done, len(paths))
            yield motion


def _flow(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Mean length of the flow between two pictures, in widths of the picture."""
    import cv2

    flow: Any = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 3, 15, 3, 5, 1.2, 0)
    return float(np.hypot(flow[..., 0], flow[..., 1]).mean()) / WIDTH
