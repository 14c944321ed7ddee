"""Decoded frames to a clip, perhaps in another order: each is coded once, and only its code is put in order.

No more than a few decoded frames are in memory at a time, however long the clip is. Codes lie in a temporary file.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.release import UnreadableClip

KEPT_FORMATS = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p")
"""Forms of pixels that are coded as they are; others become yuv420p, and with an odd side yuv444p."""
# SSE2 is in every such processor. With what the encoder finds by itself bytes differ between processors, and with
# AVX-512 it reads memory that it has not set. These are the bytes that it writes without any of it, in a third of the
# time.
_INSTRUCTIONS = "MMX2,SSE2" if platform.machine().lower() in ("x86_64", "amd64") else "0"
QUALITY = 18
"""Of x264, 0 to 51, where 0 is without loss: a frame of a film has a mean error of about 1 of 255."""


class FrameTiming(Protocol):
    """How long frames are shown, and how wide their pixels are."""

    rate: Fraction
    aspect: Fraction

    def durations(self) -> tuple[list[int], Fraction]:
        """For how many ticks each frame is shown, and the seconds of a tick."""


class PictureTiming:
    """Pictures that are shown one after the other, each equally long; their pixels are square.

    Args:
        rate: Pictures a second.
        count: How many there are.
    """

    def __init__(self, rate: int, count: int) -> None:
        self.rate, self.aspect, self._count = Fraction(rate), Fraction(0), count

    def durations(self) -> tuple[list[int], Fraction]:
        """One tick for each picture."""
        return [1] * self._count, 1 / self.rate


class SourceClip:
    """A clip that is decoded from its first frame to its last; used in a `with` block.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._times: list[int | None] = []
        self._last_duration = 0
        self.rate, self.aspect = Fraction(25), Fraction(0)

    def __enter__(self) -> SourceClip:
        """Open the clip.

        Raises:
            UnreadableClip: it is no video that can be opened.
        """
        import av

        try:
            self._container = av.open(str(self._path))
            self._stream = self._container.streams.video[0]
            self._stream.thread_type = "AUTO"
            self._stream.codec_context.thread_count = 2
            rate = self._stream.average_rate or self._stream.guessed_rate
            base, aspect = self._stream.time_base, self._stream.codec_context.sample_aspect_ratio
        except (av.FFmpegError, OSError, ValueError, IndexError) as error:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be opened.") from error
        self.rate = Fraction(rate) if rate else self.rate
        self._time_base = Fraction(base) if base else 1 / self.rate
        self.aspect = Fraction(aspect) if aspect else self.aspect
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the clip."""
        self._container.close()

    def frames(self) -> Iterator[Any]:
        """Its decoded frames, upright, in the order in which they are shown; once.

        Raises:
            UnreadableClip: one cannot be decoded, or there is none.
        """
        import av

        decoded = self._container.decode(self._stream)
        while True:
            try:
                frame = next(decoded, None)
            except (av.FFmpegError, OSError, ValueError, IndexError) as error:
                raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be decoded.") from error
            if frame is None:
                break
            if not self._times and frame.rotation % 180 and self.aspect:
                self.aspect = 1 / self.aspect
            self._times.append(frame.pts)
            self._last_duration = frame.duration or 0
            yield upright(frame)
        if not self._times:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it has no frame that can be decoded.")

    def stated_seconds(self) -> float | None:
        """The length that the header states; None where it states none, or the clip has more than its pictures."""
        length = self._container.duration
        return length / 1_000_000 if length and len(self._container.streams) == 1 else None

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


def upright(frame: Any) -> Any:
    """A decoded frame as it is to be shown: a phone's clip may be stored lying on its side."""
    turns = round(frame.rotation / 90) % 4
    if not turns:
        return frame
    return from_planes(np.ascontiguousarray(np.rot90(planes_of(frame), turns, axes=(1, 2))), frame)


def planes_of(frame: Any) -> NDArray[np.uint8]:
    """Brightness and colours of a frame, (3, H, W); colours that pixels share are repeated, not blended."""
    if frame.format.name in ("yuv420p", "yuvj420p") and not (frame.width % 2 or frame.height % 2):
        height, width = frame.height, frame.width
        packed = frame.to_ndarray()
        colours = packed[height:].reshape(2, height // 2, width // 2)
        return np.concatenate([packed[None, :height], colours.repeat(2, axis=1).repeat(2, axis=2)])
    planes: NDArray[np.uint8] = frame.reformat(format=_full_format(frame)).to_ndarray()
    return planes


def from_planes(planes: NDArray[np.uint8], like: Any) -> Any:
    """A frame with the brightness and colours of `planes`, (3, H, W), which mean what they mean in the frame `like`."""
    import av

    frame = av.VideoFrame.from_ndarray(planes, format=_full_format(like))
    frame.colorspace, frame.color_range = like.colorspace, like.color_range
    return frame


def has_full_range(frame: Any) -> bool:
    """Whether black is 0 in a frame's brightness, not 16."""
    return frame.format.name.startswith("yuvj") or int(frame.color_range) == 2


def _full_format(frame: Any) -> str:
    return "yuvj444p" if frame.format.name.startswith("yuvj") else "yuv444p"


class FrameCoder:
    """Codes frames as H.264 and writes them as an mp4 in any order; used in a `with` block.

    The same frames in the same order give the same bytes.

    Args:
        path: The file to write.
        source: The clip that the frames are of, or how long pictures are shown.
        every_key: Whether each frame can be shown without another one, so that any order will do; else only groups,
            which begin with a key frame, can be moved.
        quality: See `QUALITY`.
        comment: A text that the file carries.
    """

    def __init__(
        self,
        path: Path,
        source: FrameTiming,
        every_key: bool = False,
        quality: int = QUALITY,
        comment: str = "",
    ) -> None:
        self._path, self._source, self._every_key, self._quality = path, source, every_key, quality
        self._comment = comment
        self._stream: Any = None
        self._format = ""
        self._numbers: list[int] = []
        self._packets: list[tuple[int, int, bool]] = []

    def __enter__(self) -> FrameCoder:
        """Open the file.

        Raises:
            OSError: it cannot be written.
        """
        import av
        from av.container import Flags

        # Without a name: it goes with the process, however that ends.
        self._codes = tempfile.TemporaryFile(dir=self._path.parent)
        try:
            self._container = av.open(str(self._path), "w", format="mp4")
        except BaseException:
            self._codes.close()
            raise
        self._container.flags |= Flags.bitexact.value
        if self._comment:
            self._container.metadata["comment"] = self._comment
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both files."""
        try:
            self._container.close()
        finally:
            self._codes.close()

    def add(self, number: int, frame: Any, is_key: bool = False) -> None:
        """Code a frame.

        Args:
            number: Its number in the source.
            frame: The frame, perhaps changed.
            is_key: Whether a group begins with it, as it does in any case with the first.

        Raises:
            OSError: the temporary file cannot be written.
        """
        if self._stream is None:
            self._open_stream(frame)
        width, height = self._stream.width, self._stream.height
        # What changes its size or form midway is shown in its first one.
        if (frame.width, frame.height, frame.format.name) != (width, height, self._format):
            frame = frame.reformat(width, height, self._format)
        frame.pts, frame.time_base = len(self._numbers), 1 / self._source.rate
        frame.pict_type = 1 if is_key else 0
        self._numbers.append(number)
        self._keep(self._stream.encode(frame))

    def write(self, order: Sequence[int]) -> None:
        """Write the file: every frame that was added, shown as long as in the source.

        Args:
            order: Numbers of the frames in the order in which they are to be shown.

        Raises:
            OSError: a file cannot be written.
        """
        import av

        self._keep(self._stream.encode(None))
        durations, time_base = self._source.durations()
        codes = dict(zip(self._numbers, self._packets, strict=True))
        self._stream.time_base = time_base
        time = 0
        for number in order:
            start, size, is_key = codes[number]
            self._codes.seek(start)
            packet = av.Packet(self._codes.read(size))
            packet.stream, packet.time_base = self._stream, time_base
            packet.pts = packet.dts = time
            packet.duration, packet.is_keyframe = durations[number], is_key
            time += durations[number]
            self._container.mux(packet)

    def _open_stream(self, first: Any) -> None:
        from av.codec.context import Flags

        is_odd = first.width % 2 or first.height % 2
        name = first.format.name
        if name not in KEPT_FORMATS or (is_odd and "444" not in name):
            name = _full_format(first) if is_odd else "yuv420p"
        self._format = name
        options = {
            "crf": str(self._quality),
            "preset": "superfast",
            "tune": "zerolatency",
            "forced-idr": "1",
            "x264-params": f"asm={_INSTRUCTIONS}:keyint={1 if self._every_key else 'infinite'}:scenecut=0",
        }
        # The rate is only what the encoder reckons with: when a frame is shown is decided as the file is written.
        self._stream = self._container.add_stream("libx264", rate=self._source.rate, options=options)
        self._stream.width, self._stream.height, self._stream.pix_fmt = first.width, first.height, name
        context = self._stream.codec_context
        context.thread_count, context.max_b_frames = 1, 0
        context.flags |= Flags.bitexact.value
        context.color_range, context.colorspace = first.color_range, first.colorspace
        if self._source.aspect:
            context.sample_aspect_ratio = self._source.aspect

    def _keep(self, packets: Sequence[Any]) -> None:
        for packet in packets:
            start = self._codes.tell()
            self._codes.write(bytes(packet))
            self._packets.append((start, packet.size, packet.is_keyframe))
