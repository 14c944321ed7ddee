"""A part of a video: some of its frames as pictures to be shown to a model, and the part as a clip of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.data.coding import FrameCoder
from lmms_eval_tasks.utils.data.frame_stream import FrameStream
from lmms_eval_tasks.utils.data.frames import NEAR, PyavFrames
from lmms_eval_tasks.utils.data.jpeg import as_jpeg
from lmms_eval_tasks.utils.data.made_clips import DECODERS, GROUP_FRAMES
from lmms_eval_tasks.utils.data.pictures import upright

LONGEST_SIDE = 768
"""Pixels of a picture; larger frames are made smaller."""


def frames_between(reader: PyavFrames, start: float, end: float) -> range:
    """Numbers of the frames that are on show from one second until another; the frame at `start` at least."""
    first = reader.number_at(start)
    # A frame that begins at the end, or as near to it as times are read, is the next part's.
    return range(first, max(first, reader.number_at(end - 2 * NEAR)) + 1)


def part_pictures(path: Path, start: float, end: float, count: int, after: bool = False) -> tuple[bytes, ...]:
    """Frames of a part of a video as JPEG files, evenly spread from its first to its last; the same bytes each time."""
    reader = PyavFrames(path, threads=1)
    numbers = frames_between(reader, start, end)
    if after:
        numbers = range(frames_between(reader, 0.0, start).stop, numbers.stop)
    pictures = []
    for place in _spread(len(numbers), count):
        pictures.append(as_jpeg(reader.read([numbers[place]])[0], LONGEST_SIDE))
    return tuple(pictures)


def cut_part(path: Path, start: float, end: float, target: Path) -> int:
    """Write a part of a video as a clip of its own, every frame shown as long as there; the same bytes each time."""
    reader = PyavFrames(path, threads=DECODERS)
    numbers = frames_between(reader, start, end)
    with FrameStream(path) as source:
        timing = _PartTiming(source.rate, source.aspect)
    with replacing(target) as beside, FrameCoder(beside, timing) as coder:
        for place, number in enumerate(numbers):
            frame = reader.frame(number)
            timing.add(frame)
            coder.add(place, upright(frame), is_key=place % GROUP_FRAMES == 0)
        coder.write(range(len(numbers)))
    return len(numbers)


class _PartTiming:
    """How long the frames of a part are shown; see `coding.FrameTiming`."""

    def __init__(self, rate: Fraction, aspect: Fraction) -> None:
        self.rate, self.aspect = rate, aspect
        self._times: list[int | None] = []
        self._tick = 1 / rate
        self._last = 0

    def add(self, frame: Any) -> None:
        """Note a frame, as it is decoded."""
        if not self._times and frame.rotation % 180 and self.aspect:
            self.aspect = 1 / self.aspect
        self._times.append(frame.pts)
        self._tick = Fraction(frame.time_base) if frame.time_base else self._tick
        self._last = frame.duration or 0

    def durations(self) -> tuple[list[int], Fraction]:
        """For how many ticks each frame is shown, and the seconds of a tick."""
        times = [time for time in self._times if time is not None]
        steps = [later - time for time, later in pairwise(times)]
        if len(times) < len(self._times) or min(steps, default=1) <= 0:
            return [1] * len(self._times), 1 / self.rate
        return [*steps, self._last or max(1, round(1 / (self.rate * self._tick)))], self._tick


def _spread(length: int, count: int) -> Sequence[int]:
    """Places of `count` things, evenly spread from the first to the last of `length`; all where there are no more."""
    if length <= count:
        return range(length)
    return [round(place * (length - 1) / max(1, count - 1)) for place in range(count)]
