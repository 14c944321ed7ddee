"""What a view shows of a clip in place of it: one frame, or all frames in another order.

A made clip has the size, the frame rate and the length of its source and no sound. Each frame is shown as long as in
the source. The same source gives the same bytes. A frame is named by its number in the source, from 0 on.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.coding import FrameCoder
from lmms_eval_tasks.utils.data.content import content_digest
from lmms_eval_tasks.utils.data.frame_stream import FrameStream
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import upright

GROUP_FRAMES = 48
"""Most frames of a reversed clip from one key frame to the next."""
GROUP_BYTES = 128_000_000
"""Most bytes of decoded frames that reversing keeps in memory; at least two frames."""
DECODERS = 2
"""Threads that decode a clip while it is coded."""
_RANDOM = re.compile(r"random(\d+)")


@dataclass(frozen=True)
class MadeClip:
    """A file that was made of a clip.

    Attributes:
        path: A PNG for one frame, an MP4 for a clip.
        frames: Numbers of the source's frames that it shows, in the order in which it shows them.
    """

    path: Path
    frames: tuple[int, ...]


def show_frame(clip: Path, position: str, store: ClipStore) -> MadeClip:
    """One frame of a clip as a picture, without loss.

    Args:
        clip: The file.
        position: ``first``, ``last``, ``centre`` (frame n // 2 of n), or ``random`` and a seed, as in ``random3``: any
            frame is as likely as any other, and the choice depends on seed and content alone.
        store: Where it is kept.

    Raises:
        ValueError: there is no such position.
        UnreadableClip: the clip, or the frame, cannot be decoded.
        OSError: the store cannot be written.
    """
    seed = _RANDOM.fullmatch(position)
    if not seed and position not in ("first", "centre", "last"):
        raise ValueError(f"Expected a frame first, centre, last or random and a seed, but got {position!r}.")

    def place(count: int) -> int:
        if seed:
            return _random(clip, int(seed[1])).randrange(count)
        return {"first": 0, "centre": count // 2, "last": count - 1}[position]

    def make(path: Path) -> int:
        # Not by OpenCV: where decord was imported before it, it writes a PNG that cannot be read, and says nothing.
        from PIL import Image

        reader = PyavFrames(clip, threads=1)
        # In PyAV's own colours, not those of `read`, so that a picture keeps its bytes.
        picture = upright(reader.frame(place(reader.count))).to_ndarray(format="rgb24")
        Image.fromarray(picture).save(path, format="PNG")
        return reader.count

    path, count = store.find_or_make(clip, {"frame": position}, ".png", make)
    return MadeClip(path, (place(count),))


def show_reversed(clip: Path, store: ClipStore) -> MadeClip:
    """A clip from its last frame to its first.

    Raises:
        UnreadableClip: it cannot be decoded to its end.
        OSError: the store cannot be written.
    """

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

    path, count = store.find_or_make(clip, {"order": "reversed"}, ".mp4", make)
    return MadeClip(path, tuple(range(count - 1, -1, -1)))


def show_shuffled(clip: Path, store: ClipStore, seed: int = 0) -> MadeClip:
    """A clip with all its frames in an order that depends on seed and content alone.

    Any order but the clip's own is as likely as any other; of a clip of one frame there is only its own.

    Args:
        clip: The file.
        store: Where it is kept.
        seed: Another one gives another order.

    Raises:
        UnreadableClip: it cannot be decoded to its end.
        OSError: the store cannot be written.
    """

    def make(path: Path) -> int:
        with FrameStream(clip, DECODERS) as source, FrameCoder(path, source, every_key=True) as coder:
            count = 0
            for number, frame in enumerate(source.frames()):
                coder.add(number, frame)
                count = number + 1
            coder.write(_shuffle(clip, seed, count))
        return count

    path, count = store.find_or_make(clip, {"order": "shuffled", "seed": seed}, ".mp4", make)
    return MadeClip(path, _shuffle(clip, seed, count))


def _code_backwards(coder: FrameCoder, group: Sequence[tuple[int, Any]]) -> None:
    """Code a group of frames and their numbers, the last one first and as a key frame."""
    for number, frame in reversed(group):
        coder.add(number, frame, is_key=number == group[-1][0])


def _shuffle(clip: Path, seed: int, count: int) -> tuple[int, ...]:
    generator, own = _random(clip, seed), list(range(count))
    order = list(own)
    while order == own and count > 1:
        generator.shuffle(order)
    return tuple(order)


def _random(clip: Path, seed: int) -> random.Random:
    return random.Random(hashlib.sha256(f"{seed}\0{content_digest(clip)}".encode()).hexdigest())
