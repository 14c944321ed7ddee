"""Clip files: videos that can be read, facts of their containers, and their frames by PyAV, decoded from the first to
the last or by number or time; a placeholder."""

from __future__ import annotations

import hashlib
import random
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256, visible_files
from lmms_eval_tasks.utils.core.work import Progress, in_parallel, no_progress
from lmms_eval_tasks.utils.data.pictures import h264_file, rgb_of, upright
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MICROSECONDS = 1_000_000
MATROSKA = "matroska,webm"
"""By FFmpeg's name; its length counts from zero, and not from where the clip begins."""
_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"sidx", b"moof", b"pnot"})
_EBML = bytes.fromhex("1a45dfa3")
_MOST_PARTS = 100_000


PREVIEW = 0.1
"""A picture track that has less than this share of the pictures of another one of its file is a preview of it."""


def open_film(path: Path) -> tuple[Any, Any]:
    """Open a file and find its film among its tracks of pictures.

    Neither a cover picture nor a preview is the film. Of several others it is the one that the file marks as its
    default, then the longest, then the first. Tracks are counted only where there are several.

    Returns:
        The container (``av.container.InputContainer``) and the film's stream, from which nothing was read.

    Raises:
        av.FFmpegError, OSError, ValueError: it cannot be opened.
        IndexError: it has no film.
    """
    import av

    container = av.open(str(path))
    tracks = [stream for stream in container.streams.video if not is_cover(stream)]
    if not tracks:
        container.close()
        raise IndexError("there is no film")
    if len(tracks) == 1:
        return container, tracks[0]
    with container:
        ends = _ends_of_pictures(container, tracks)
        most = max(map(len, ends.values()))
        films = [stream for stream in tracks if len(ends[stream.index]) >= PREVIEW * most]
        marked = [stream for stream in films if stream.disposition & av.stream.Disposition.default]
        film = max(marked or films, key=lambda stream: max(ends[stream.index], default=0.0)).index
    container = av.open(str(path))
    return container, container.streams[film]


def _ends_of_pictures(container: Any, tracks: Sequence[Any]) -> dict[int, list[float]]:
    """Return by a track's number the seconds at which each of its pictures ends, of those that can be read."""
    import av

    ends: dict[int, list[float]] = {stream.index: [] for stream in tracks}
    with suppress(av.FFmpegError):
        for packet in container.demux(*tracks):
            if packet.size and packet.pts is not None:
                ends[packet.stream.index].append(float((packet.pts + (packet.duration or 0)) * packet.time_base))
    return ends


def is_cover(stream: Any) -> bool:
    """Whether a track is a picture that was attached to the film, as players show it in a list."""
    from av.stream import Disposition

    return bool(stream.disposition & (Disposition.attached_pic | Disposition.timed_thumbnails))


def first_second(container: Any) -> float:
    """Return the start of an open container (``av.container.InputContainer``) in seconds by its own clock; 0 if
    negative."""
    return max(0, container.start_time or 0) / MICROSECONDS


def length_in_seconds(container: Any) -> float | None:
    """Return the stated length of an open container from its start; None if it states none."""
    if not container.duration:
        return None
    return since_first_second(container, container.duration / MICROSECONDS)


def since_first_second(container: Any, length: float) -> float:
    begins = first_second(container) if container.format.name == MATROSKA else 0.0
    return length - begins if length > begins else length


def missing_bytes(path: Path) -> int:
    """Return the number of bytes missing at the end of a file by the headers of its parts; 0 if it is whole or they do
    not say.

    An MP4 or a QuickTime file, Matroska or WebM, and an AVI say it; a transport stream does not. In Matroska the length
    of a whole film or of a part of it may be unknown, as where it was written while it was filmed; what is in it is
    then looked at.
    Source: ISO/IEC 14496-12, section 4.2 (boxes); RFC 8794, sections 4 to 6; RFC 9559, section 5.1.

    Raises:
        OSError: it cannot be read.
    """
    size, end = path.stat().st_size, 0
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
            return max(0, 8 + int.from_bytes(head[4:8], "little") - size)
        find_end = _end_of_box if head[4:8] in _BOXES else _end_of_element if head[:4] == _EBML else None
        for _ in range(_MOST_PARTS if find_end else 0):
            file.seek(end)
            try:
                end = find_end(file) if find_end else end
            except EOFError:
                end = max(end, size + 1)
            except ValueError:  # a part that goes on to the end, or none: what comes behind the film
                break
            if end >= size:
                break
    return max(0, end - size)


def _end_of_box(file: BinaryIO) -> int:
    begin = file.tell()
    length = int.from_bytes(_read(file, 8)[:4], "big")
    if length == 1:
        length = int.from_bytes(_read(file, 8), "big")
    if length < 8:
        raise ValueError
    return begin + length


def _end_of_element(file: BinaryIO) -> int:
    """Return the end of a Matroska element, or the start of its content if its length is unknown."""
    _read_number(file)
    return (_read_number(file) or 0) + file.tell()


def _read_number(file: BinaryIO) -> int | None:
    """Read a number of one to eight bytes, of which the first one's leading zeros say how many follow; None for one
    that is unknown."""
    first = _read(file, 1)
    if not first[0]:
        raise ValueError
    content = first + _read(file, 8 - first[0].bit_length())
    most = (1 << 7 * len(content)) - 1
    number = int.from_bytes(content, "big") & most
    return None if number == most else number


def _read(file: BinaryIO, count: int) -> bytes:
    content = file.read(count)
    if len(content) < count:
        raise EOFError
    return content


def digest_clip(clip: Path) -> str:
    try:
        return file_sha256(clip)
    except OSError as error:
        raise UnreadableClip(f"Expected a clip at {clip}, but there is no file that can be read.") from error


_LENGTH = re.compile(r"(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,9})?)\0?")


class FrameTimes:
    """Times of the frames of a clip or a part of one, noted as they are decoded; see `pictures.FrameTiming`."""

    def __init__(self, rate: Fraction, aspect: Fraction) -> None:
        self.rate, self.aspect = rate, aspect
        self._times: list[int | None] = []
        self._tick = 1 / rate
        self._last_duration = 0

    def note(self, frame: Any) -> None:
        if not self._times and frame.rotation % 180 and self.aspect:
            self.aspect = 1 / self.aspect
        self._times.append(frame.pts)
        self._tick = Fraction(frame.time_base) if frame.time_base else self._tick
        self._last_duration = frame.duration or 0

    def durations(self) -> tuple[list[int], Fraction]:
        """Return for how many ticks each frame is shown, and the seconds of a tick.

        Where the clip does not say, or its times do not grow, all are shown equally long.
        """
        times = [time for time in self._times if time is not None]
        steps = [later - time for time, later in pairwise(times)]
        if len(times) < len(self._times) or min(steps, default=1) <= 0:
            return [1] * len(self._times), 1 / self.rate
        return [*steps, self._last_duration or max(1, round(1 / (self.rate * self._tick)))], self._tick


class FrameStream(FrameTimes):
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
        super().__init__(Fraction(25), Fraction(0))
        self._path, self._threads = path, threads
        self.fps, self.stated_frames, self.size = 0.0, 0, (0, 0)

    def __enter__(self) -> FrameStream:
        import av

        self._errors = (av.FFmpegError, OSError, ValueError, IndexError)
        try:
            self._container, self._stream = open_film(self._path)
            stream = self._stream
            context = stream.codec_context
            if self._threads:
                stream.thread_type, context.thread_count = "AUTO", self._threads
            rate, base = stream.average_rate or stream.guessed_rate, stream.time_base
            self.aspect = Fraction(context.sample_aspect_ratio or 0)
        except self._errors as error:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be opened.") from error
        self.fps, self.stated_frames = float(stream.average_rate or 0), stream.frames
        self.size = context.width, context.height
        self.rate = Fraction(rate) if rate else self.rate
        self._tick = Fraction(base) if base else 1 / self.rate
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            self.note(frame)
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
        """Return the length that the file states for its pictures; None for none, or one for its sound as well."""
        if own := _LENGTH.fullmatch(self._stream.metadata.get("DURATION", "")):  # as Matroska has it
            return since_first_second(self._container, int(own[1]) * 3600 + int(own[2]) * 60 + float(own[3]))
        others = [stream for stream in self._container.streams if stream.type != "video" or not is_cover(stream)]
        return length_in_seconds(self._container) if len(others) == 1 else None

    def seconds_of_last_frame(self) -> float:
        """Return the time of the last decoded frame, in seconds from the first one."""
        first, last = self._times[0], self._times[-1]
        if first is None or last is None:
            return float((len(self._times) - 1) / self.rate)
        return float((last - first) * self._tick)


VIDEO_SUFFIXES = frozenset({".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v"})
"""Of the files that are taken for videos in any folder."""
PLACEHOLDER_FRAMES = 16
PLACEHOLDER_SIDE = 224


def videos_below(folder: Path) -> list[Path]:
    """The files in a folder, and in those in it, that are videos by their suffix; in the order of their paths.

    A suffix is one of .avi, .m4v, .mkv, .mov, .mp4 and .webm, in capitals or not. Hidden files, whose names begin with
    a dot, are left out, as are those in hidden folders. No file is opened.

    Raises:
        InputError: there is none.
    """
    found = [path for path in visible_files(folder, "**/*") if path.suffix.lower() in VIDEO_SUFFIXES]
    if not found:
        raise InputError(f"{folder} holds no video ({', '.join(sorted(VIDEO_SUFFIXES))}).")
    return found


def is_readable(path: Path, whole: bool = False) -> bool:
    """Whether a file opens as a video and does not lack its end, with `whole` also whether all frames can be
    decoded."""
    try:
        with FrameStream(path) as stream:
            for _ in stream.frames(as_stored=True) if whole or missing_bytes(path) else ():
                pass
            return True
    except (UnreadableClip, OSError):
        return False


def unreadable(
    paths: Iterable[Path], progress: Progress = no_progress, what: str = "opening clips", whole: bool = False
) -> list[Path]:
    """The files that are not readable videos, in the given order; opened in parallel threads."""
    looked = in_parallel(list(paths), lambda path: is_readable(path, whole), progress, what)
    return [path for path, good in looked if not good]


def clip_seconds(path: Path) -> float | None:
    """A clip's length in seconds, from its header; None where it cannot be opened or its header states none."""
    import av

    try:
        with open_film(path)[0] as container:
            return length_in_seconds(container)
    except (av.FFmpegError, OSError, ValueError, IndexError):
        return None


def clip_lengths(paths: Iterable[Path], progress: Progress, what: str) -> dict[Path, float | None]:
    """`clip_seconds` of each distinct file, read once and in parallel threads."""
    return dict(in_parallel(dict.fromkeys(paths), clip_seconds, progress, what))


def write_placeholder(path: Path) -> None:
    """Write a black H.264 video of 16 frames, 224 by 224 pixels, two seconds; the same bytes each time."""
    import av
    import numpy as np

    size = PLACEHOLDER_SIDE, PLACEHOLDER_SIDE
    with h264_file(path, 8, size, {}) as stream:
        black = np.zeros((*size, 3), dtype=np.uint8)
        for _ in range(PLACEHOLDER_FRAMES):
            stream.container.mux(stream.encode(av.VideoFrame.from_ndarray(black, format="rgb24")))


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
        self._container, self._stream = open_film(self._path)
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
