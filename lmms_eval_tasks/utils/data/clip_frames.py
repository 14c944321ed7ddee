"""Frames of a clip for a model that is asked by requests."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.jpeg import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip

SIDE = 448
"""Pixels of a frame's longer side."""


def clip_frames(clip: Path, number: int) -> tuple[tuple[bytes, ...], list[float]]:
    """Frames of a clip as JPEG files, evenly spread from the first to the last, all of a shorter one, and their
    times."""
    import numpy as np

    reader = PyavFrames(clip, threads=1)
    if not reader.count:
        raise UnreadableClip(f"Expected {clip} to have frames, but it has none.")
    places = sorted({round(place) for place in np.linspace(0, reader.count - 1, min(number, reader.count)).tolist()})
    images = tuple(as_jpeg(frame, SIDE) for frame in reader.read(places))
    return images, [place / reader.fps if reader.fps else 0.0 for place in places]
