"""A clip from its first frame to its last, one decoded frame after the other, in as much memory as a few of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.utils.data.containers import length_in_seconds, missing_bytes, since_first_second
from lmms_eval_tasks.utils.data.pictures import upright
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LENGTH = re.compile(r"(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,9})?)\0?")


class FrameStream:
    """A clip that is decoded from its first frame to its last; used in a `with` block.

    Args:
        path: The file.
        threads: How many decode, each a frame; 0 leaves it to the decoder, which parts a frame among them.

    Attributes:
        fps: Average number of frames a second; 0 where the file states none.
        rate: The same as a fraction, or a guess, above 0.
        stated_frames: How many frames its header says there are; 0 where it does not say.
        size: Width and height in pixels, as stored; 0 where the file states none.
        aspect: Width of a pixel to its height; 0 where the file states none. Of upright frames once one was decoded.

    Raises:
        UnreadableClip: it is no video that can be opened; also while frames are decoded.
    """

    def __init__(self, path: Path, threads: int = 0) -> None:
        self._path, self._threads = path, threads
        self._times: list[int | None] = []
        self._last_duration = 0
        self.fps, self.rate, self.aspect = 0.0, Fraction(25), Fraction(0)
        self.stated_frames, self.size = 0, (0, 0)

    def __enter__(self) -> FrameStream:
        """Open the clip.

        Raises:
            UnreadableClip: it is no video that can be opened.
        """
        import av

        self._errors = (av.FFmpegError, OSError, ValueError, IndexError)
        try:
            self._container = av.open(str(self._path))
            self._stream = self._container.streams.video[0]
            if self._threads:
                self._stream.thread_type = "AUTO"
                self._stream.codec_context.thread_count = self._threads
            rate = self._stream.average_rate or self._stream.guessed_rate
            base, aspect = self._stream.time_base, self._stream.codec_context.sample_aspect_ratio
        except self._errors as error:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be opened.") from error
        self.fps, self.stated_frames = float(self._stream.average_rate or 0), self._stream.frames
        self.size = self._stream.codec_context.width, self._stream.codec_context.height
        self.rate = Fraction(rate) if rate else self.rate
        self._time_base = Fraction(base) if base else 1 / self.rate
        self.aspect = Fraction(aspect) if aspect else self.aspect
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the clip."""
        self._container.close()

    def frames(self, as_stored: bool = False) -> Iterator[Any]:
        """Its decoded frames (``av.VideoFrame``) in the order in which they are shown; once.

        Args:
            as_stored: Not upright, where the clip is stored lying on its side.

        Raises:
            UnreadableClip: one cannot be decoded, or there is none.
        """
        decoded = self._container.decode(self._stream)
        while True:
            try:
                frame = next(decoded, None)
            except self._errors as error:
                raise self._undecodable() from error
            if frame is None:
                break
            if not self._times and frame.rotation % 180 and self.aspect:
                self.aspect = 1 / self.aspect
            self._times.append(frame.pts)
            self._last_duration = frame.duration or 0
            yield frame if as_stored else upright(frame)
        if not self._times:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it has no frame that can be decoded.")
        if not 0 < self.stated_frames <= len(self._times) and missing_bytes(self._path):
            raise self._undecodable()

    def pixels(self, frame: Any, layout: str, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
        """A frame as an array.

        Args:
            frame: One of its frames.
            layout: ``gray`` for (H, W), ``rgb24`` or ``bgr24`` for (H, W, 3). Colours are taken for BT.601, whatever
                the clip says.
            size: Width and height; the frame's own by default.

        Raises:
            UnreadableClip: it is of a form that cannot be turned into that.
        """
        width, height = size or (frame.width, frame.height)
        try:
            pixels: NDArray[np.uint8] = frame.to_ndarray(width=width, height=height, format=layout)
        except self._errors as error:
            raise self._undecodable() from error
        return pixels

    def _undecodable(self) -> UnreadableClip:
        with suppress(OSError):
            if missing := missing_bytes(self._path):
                return UnreadableClip(
                    f"Expected {self._path} to hold all that it says it holds, but it was cut off: it lacks at least "
                    f"{missing:,} of its bytes."
                )
        return UnreadableClip(f"Expected {self._path} to be a video, but it cannot be decoded.")

    def stated_seconds(self) -> float | None:
        """The length that the file states for its pictures; None where it states none, or one for its sound as well."""
        if own := _LENGTH.fullmatch(self._stream.metadata.get("DURATION", "")):  # as Matroska has it
            return since_first_second(self._container, int(own[1]) * 3600 + int(own[2]) * 60 + float(own[3]))
        return length_in_seconds(self._container) if len(self._container.streams) == 1 else None

    def seconds_of_last_frame(self) -> float:
        """When the frame that was decoded last is shown, in seconds from the first one on."""
        first, last = self._times[0], self._times[-1]
        if first is None or last is None:
            return float((len(self._times) - 1) / self.rate)
        return float((last - first) * self._time_base)

    def durations(self) -> tuple[list[int], Fraction]:
        """For how many ticks each decoded frame is shown, and the seconds of a tick.

        Where the clip does not say, or its times do not grow, all are shown equally long.
        """
        times = [time for time in self._times if time is not None]
        steps = [later - time for time, later in pairwise(times)]
        if len(times) < len(self._times) or min(steps, default=1) <= 0:
            return [1] * len(self._times), 1 / self.rate
        usual = max(1, round(1 / (self.rate * self._time_base)))
        return [*steps, self._last_duration or usual], self._time_base
