"""Clips and pictures made of a clip: one frame, another order, masked boxes, a part."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import NEAR, FrameOrder, FrameStream, FrameTimes, PyavFrames, seeded
from lmms_eval_tasks.utils.data.pictures import FrameCoder, as_jpeg, from_planes, has_full_range, planes_of, upright

GROUP_FRAMES = 48
"""Most frames of a reversed clip from one key frame to the next."""
GROUP_BYTES = 128_000_000
"""Most bytes of decoded frames that reversing keeps in memory; at least two frames."""
DECODERS = 2
"""Threads that decode a clip while it is coded."""
ALL = "all frames"
"""What of a clip is decoded for another one."""
_RANDOM = re.compile(r"random(\d+)")


@dataclass(frozen=True)
class MadeClip:
    path: Path
    frames: tuple[int, ...]


class Making(NamedTuple):
    """Recipe for making something from a clip, which equals another that makes the same."""

    make: Callable[..., MadeClip]
    clip: Path
    arguments: tuple[Any, ...] = ()

    def run(self, store: ClipStore) -> MadeClip:
        """Make it, where the store lacks it; errors are those of `make`."""
        return self.make(self.clip, *self.arguments, store)


def count_frames(clip: Path, store: ClipStore) -> int:
    def decode() -> int:
        with FrameStream(clip, DECODERS) as source:
            return sum(1 for _ in source.frames(as_stored=True))

    return store.count_frames(clip, ALL, decode)


def find_frame(clip: Path, position: str, store: ClipStore) -> int:
    """The number of the frame at a position that can be decoded; nothing is made of it."""
    _check_position(position)

    def decode() -> int:
        reader = PyavFrames(clip, threads=1)
        reader.frame(_place(clip, position, reader.count))
        return reader.count

    return _place(clip, position, store.count_frames(clip, f"frame {position}", decode))


def show_frame(clip: Path, position: str, store: ClipStore) -> MadeClip:
    _check_position(position)

    def make(path: Path) -> int:
        # Not by OpenCV: where decord was imported before it, it writes a PNG that cannot be read, and says nothing.
        from PIL import Image

        reader = PyavFrames(clip, threads=1)
        # In PyAV's own colours, not those of `read`, so that a picture keeps its bytes.
        picture = upright(reader.frame(_place(clip, position, reader.count))).to_ndarray(format="rgb24")
        Image.fromarray(picture).save(path, format="PNG")
        return reader.count

    path, count = store.find_or_make(clip, {"frame": position}, ".png", f"frame {position}", make)
    return MadeClip(path, (_place(clip, position, count),))


def _check_position(position: str) -> None:
    if not _RANDOM.fullmatch(position) and position not in ("first", "centre", "last"):
        raise ValueError(f"Expected a frame first, centre, last or random and a seed, but got {position!r}.")


def _place(clip: Path, position: str, count: int) -> int:
    if seed := _RANDOM.fullmatch(position):
        return seeded(clip, int(seed[1])).randrange(count)
    return {"first": 0, "centre": count // 2, "last": count - 1}[position]


def show_reversed(clip: Path, store: ClipStore) -> MadeClip:
    def make(path: Path) -> int:
        with FrameStream(clip, DECODERS) as source, FrameCoder(path, source) as coder:
            group: list[tuple[int, Any]] = []
            for number, frame in enumerate(source.frames()):
                if number and len(group) >= min(GROUP_FRAMES, max(2, GROUP_BYTES // (2 * frame.width * frame.height))):
                    _code_backwards(coder, group)
                    group = []
                group.append((number, frame))
            _code_backwards(coder, group)
            order = range(group[-1][0], -1, -1)
            coder.write(order)
        return len(order)

    path, count = store.find_or_make(clip, {"order": "reversed"}, ".mp4", ALL, make)
    return MadeClip(path, FrameOrder.REVERSED.numbers(clip, count))


def show_shuffled(clip: Path, store: ClipStore, seed: int = 0) -> MadeClip:
    """A clip with all its frames in the order `FrameOrder.SHUFFLED`."""

    def make(path: Path) -> int:
        with FrameStream(clip, DECODERS) as source, FrameCoder(path, source, every_key=True) as coder:
            count = 0
            for number, frame in enumerate(source.frames()):
                coder.add(number, frame)
                count = number + 1
            coder.write(FrameOrder.SHUFFLED.numbers(clip, count, seed))
        return count

    path, count = store.find_or_make(clip, {"order": "shuffled", "seed": seed}, ".mp4", ALL, make)
    return MadeClip(path, FrameOrder.SHUFFLED.numbers(clip, count, seed))


def _code_backwards(coder: FrameCoder, group: Sequence[tuple[int, Any]]) -> None:
    """Code a group of frames and their numbers, the last one first and as a key frame."""
    for number, frame in reversed(group):
        coder.add(number, frame, is_key=number == group[-1][0])


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
    return [box for start, end, box in boxes if start <= second < end]


def black_out(planes: NDArray[np.uint8], boxes: Iterable[Box], full_range: bool) -> None:
    for box in boxes:
        rows, columns = touched_pixels(box)
        planes[0, rows, columns] = 0 if full_range else 16
        planes[1:, rows, columns] = NO_COLOUR


def touched_pixels(box: Box) -> tuple[slice, slice]:
    """Rows and columns of the pixels that a box touches; what leaves the frame at its left or top is cut off."""
    left, top, right, bottom = box
    rows = slice(max(0, math.floor(top)), max(0, math.ceil(bottom)))
    return rows, slice(max(0, math.floor(left)), max(0, math.ceil(right)))


PART_SIDE, CLIP_SIDE = 768, 448
"""Pixels of a picture's longer side, of a part and of a whole clip; larger frames are made smaller."""


def clip_frames(clip: Path, number: int) -> tuple[tuple[bytes, ...], list[float]]:
    """Return JPEG files of a clip's frames, evenly spread from the first to the last, and their times in seconds."""
    reader = PyavFrames(clip, threads=1)
    pictures, numbers = _spread_pictures(reader, range(reader.count), number, CLIP_SIDE)
    return pictures, [place / reader.fps if reader.fps else 0.0 for place in numbers]


def part_pictures(path: Path, start: float, end: float, count: int, after: bool = False) -> tuple[bytes, ...]:
    """Return JPEG files of a part of a video, or of what is shown after its first second, evenly spread."""
    reader = PyavFrames(path, threads=1)
    numbers = frames_between(reader, start, end)
    if after:
        numbers = range(frames_between(reader, 0.0, start).stop, numbers.stop)
    return _spread_pictures(reader, numbers, count, PART_SIDE)[0]


def _spread_pictures(reader: PyavFrames, numbers: range, count: int, side: int) -> tuple[tuple[bytes, ...], list[int]]:
    """Return pictures of so many frames, all where there are no more, and their numbers; the same bytes each time."""
    chosen = list(numbers)
    if len(chosen) > count:
        chosen = [chosen[round(place * (len(chosen) - 1) / max(1, count - 1))] for place in range(count)]
    return tuple(as_jpeg(reader.read([number])[0], side) for number in chosen), chosen


def frames_between(reader: PyavFrames, start: float, end: float) -> range:
    """Return the numbers of the frames that are on show from one second until another; at least that at `start`."""
    first = reader.number_at(start)
    # A frame that begins at the end, or as near to it as times are read, is the next part's.
    return range(first, max(first, reader.number_at(end - 2 * NEAR)) + 1)


def cut_part(path: Path, start: float, end: float, target: Path) -> int:
    """Write a part of a video as a clip of its own, every frame shown as long as there; the same bytes each time."""
    reader = PyavFrames(path, threads=DECODERS)
    numbers = frames_between(reader, start, end)
    with FrameStream(path) as source:
        times = FrameTimes(source.rate, source.aspect)
    with replacing(target) as beside, FrameCoder(beside, times) as coder:
        for place, number in enumerate(numbers):
            frame = reader.frame(number)
            times.note(frame)
            coder.add(place, upright(frame), is_key=place % GROUP_FRAMES == 0)
        coder.write(range(len(numbers)))
    return len(numbers)
