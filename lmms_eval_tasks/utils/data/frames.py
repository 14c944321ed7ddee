"""Frames of a clip by number or time, by PyAV, upright and in its own colours, also in another order."""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lmms_eval_tasks.utils.data.clips import digest_clip, first_second, length_in_seconds, missing_bytes
from lmms_eval_tasks.utils.data.pictures import rgb_of
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class FrameOrder(str, Enum):
    REVERSED = "reversed"
    SHUFFLED = "shuffled"

    def numbers(self, clip: Path, count: int, seed: int = 0) -> tuple[int, ...]:
        """Numbers of a clip's frames, from 0 on, in this order."""
        own = list(range(count))
        if self is FrameOrder.REVERSED:
            return tuple(reversed(own))
        generator, order = seeded(clip, seed), list(own)
        while order == own and count > 1:
            generator.shuffle(order)
        return tuple(order)


def seeded(clip: Path, seed: int) -> random.Random:
    """A generator of random numbers that depends on a seed and what a clip holds alone."""
    return random.Random(hashlib.sha256(f"{seed}\0{digest_clip(clip)}".encode()).hexdigest())


class ReorderedClip(str):
    """A clip whose frames a model is to read in another order."""

    path: Path
    order: FrameOrder

    def __new__(cls, path: Path, order: FrameOrder) -> ReorderedClip:
        clip = super().__new__(cls, f"{path}#{order.value}")
        clip.path, clip.order = path, order
        return clip

    def __getnewargs__(self) -> tuple[Path, FrameOrder]:  # type: ignore[override]
        return self.path, self.order


def source_of(clip: str | Path) -> tuple[Path, str]:
    """The file of a clip, and the order in which its frames are to be read; empty for its own."""
    return (clip.path, clip.order.value) if isinstance(clip, ReorderedClip) else (Path(clip), "")


NEAR = 1e-3
"""Seconds by which a frame may come later than the time that is asked for."""


class PyavFrames:
    """An open clip; for one thread at a time.

    The times of all frames are read at first, without decoding one. A frame is found by its time, from the key frame
    before it on, and decoding goes on from there for the next. What cannot be searched so is decoded from the first
    frame on.

    Args:
        path: The file, or a clip whose frames are to be read in another order.
        threads: How many decode; 0 leaves it to the decoder.

    Attributes:
        count: How many frames it shows.
        fps: Average number of frames a second; 0 where it states none.
        seconds: Its length in seconds.

    Raises:
        UnreadableClip: where it is no video that can be opened.
    """

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        import av

        self._path, self._threads = source_of(path)[0], threads
        self._errors = (av.FFmpegError, OSError, ValueError, IndexError)
        self._decoded: Any = None
        self._last = -1
        try:
            self._open()
            context = self._stream.codec_context
            self._size = (context.width, context.height) if context.width and context.height else None
            demuxed = (packet for packet in self._container.demux(self._stream) if packet.size)
            packets = [_Packet(one.pts, one.is_keyframe, one.is_discard, one.is_corrupt) for one in demuxed]
            whole = not any(packet.is_corrupt for packet in packets) and len(packets) >= self._stream.frames > 0
            if not whole and missing_bytes(self._path):
                raise ValueError("the file ends before its last frame")
            # What was cut off without coding the rest anew is still there, and is not shown.
            shown = [packet.pts for packet in packets if not packet.is_discard]
            self._times: list[int] = sorted(time for time in shown if time is not None)
            # Of parts that were put one behind the other, each may begin at the same time.
            self._has_times = len(set(self._times)) == len(shown)
            self._keys = sorted(packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None)
            self._can_seek = self._has_times and bool(self._keys)
            self.count = len(shown) if self._has_times else self._count_decoded()
            self.fps, self._tick = float(self._stream.average_rate or 0.0), float(self._stream.time_base or 0)
            self._begins, length = first_second(self._container), length_in_seconds(self._container)
        except self._errors as error:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be opened.") from error
        if not self.count:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it holds no frame.")
        self._order = path.order.numbers(path.path, self.count) if isinstance(path, ReorderedClip) else None
        self.seconds = length or self._last_second()

    def read(self, positions: Sequence[int]) -> NDArray[np.uint8]:
        """Frames by their number from 0 on, in the clip's order or the one that was asked for, (T, H, W, 3) RGB.

        Each is decoded once, the first in the file first; no others are kept in memory.

        Raises:
            UnreadableClip: where one cannot be decoded.
        """
        import numpy as np

        if self._order is not None:
            positions = [self._order[position] for position in positions]
        pictures = {}
        for position in sorted(set(positions)):
            frame = self.frame(position)
            try:
                # A frame of another size than the clip's is made as large.
                pictures[position] = rgb_of(frame, self._size)
            except self._errors as error:
                raise self._undecodable() from error
        return np.stack([pictures[position] for position in positions])

    def frame(self, position: int) -> Any:
        """A decoded frame (``av.VideoFrame``) by its number in the file, as it is stored, perhaps lying on its side.

        Raises:
            UnreadableClip: where it cannot be decoded, or there is none of that number.
        """
        if not 0 <= position < self.count:
            raise self._undecodable() from IndexError(position)
        try:
            frame = self._search(position) if self._can_seek else self._go_on_to(position)
            if frame is None and self._can_seek:
                self._decoded = None
                frame = self._go_on_to(position)
                self._can_seek = frame is None
        except self._errors as error:
            self._decoded = None
            raise self._undecodable() from error
        self._last = position
        if frame is None:
            self._decoded = None
            raise self._undecodable()
        return frame

    @property
    def _frame_bytes(self) -> int:
        """Bytes of a frame as `read` returns it; 0 where the file does not state its size."""
        width, height = self._size or (0, 0)
        return 3 * width * height

    def number_at(self, second: float) -> int:
        """The frame of the file that is shown so many seconds after the clip begins; the last after it ends."""
        if self._has_times:
            number = bisect_right(self._times, self._begins + second + NEAR, key=lambda time: time * self._tick) - 1
        else:
            number = int((second + NEAR) * self.fps)
        return min(max(number, 0), self.count - 1)

    def _open(self) -> None:
        import av

        self._container = av.open(str(self._path))
        self._stream = self._container.streams.video[0]
        self._stream.thread_type = "AUTO"
        self._stream.codec_context.thread_count = self._threads

    def _count_decoded(self) -> int:
        self._open()
        return sum(1 for _ in self._container.decode(self._stream))

    def _last_second(self) -> float:
        """Return the time of the last picture, which is taken as the end of a container that states no length."""
        if self._has_times:
            return self._times[-1] * self._tick - self._begins
        return (self.count - 1) / self.fps if self.fps else 0.0

    def _search(self, position: int) -> Any:
        """A frame by its time; the decoder is moved where that one is behind it, or beyond the next key frame."""
        time = self._times[position]
        # Not to the frame's own time: a search by the time of decoding may end at the key frame after it.
        key = self._keys[max(0, bisect_right(self._keys, time) - 1)]
        if self._decoded is None or position <= self._last or self._times[self._last + 1] < key:
            self._container.seek(key, stream=self._stream)
            self._decoded = self._container.decode(self._stream)
        return self._find_time(time)

    def _go_on_to(self, position: int) -> Any:
        """A frame by decoding all before it, from the last one on, or from the beginning where it is behind that."""
        if self._decoded is None or position <= self._last:
            self._open()
            self._decoded, self._last = self._container.decode(self._stream), -1
        if self._has_times:
            return self._find_time(self._times[position])
        return next(islice(self._decoded, position - self._last - 1, None), None)

    def _find_time(self, time: int) -> Any:
        frame = next((frame for frame in self._decoded if frame.pts is not None and frame.pts >= time), None)
        return frame if frame is not None and frame.pts == time else None

    def _undecodable(self) -> UnreadableClip:
        return UnreadableClip(f"Expected {self._path} to be a video, but it cannot be decoded.")


class _Packet(NamedTuple):
    """Facts about a frame that are known before it is decoded, without its bytes."""

    pts: int | None
    is_keyframe: bool
    is_discard: bool
    is_corrupt: bool
