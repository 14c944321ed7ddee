"""What a view shows of a clip in place of it: one frame, or all frames in another order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.coding import FrameCoder
from lmms_eval_tasks.utils.data.frame_orders import FrameOrder, seeded
from lmms_eval_tasks.utils.data.frame_stream import FrameStream
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import upright

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
    """A file that was made of a clip."""

    path: Path
    frames: tuple[int, ...]


class Making(NamedTuple):
    """How something is made of a clip; it can go to another process, and is equal where the same is made."""

    make: Callable[..., MadeClip]
    clip: Path
    arguments: tuple[Any, ...] = ()

    def run(self, store: ClipStore) -> MadeClip:
        """Make it, where the store lacks it; errors are those of `make`."""
        return self.make(self.clip, *self.arguments, store)


def count_frames(clip: Path, store: ClipStore) -> int:
    """How many frames a clip has that can be decoded to its end; nothing is made of it."""

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
    """One frame of a clip as a picture, without loss."""
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
    """The number of the frame at a position in a clip of so many."""
    if seed := _RANDOM.fullmatch(position):
        return seeded(clip, int(seed[1])).randrange(count)
    return {"first": 0, "centre": count // 2, "last": count - 1}[position]


def show_reversed(clip: Path, store: ClipStore) -> MadeClip:
    """A clip from its last frame to its first."""

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
