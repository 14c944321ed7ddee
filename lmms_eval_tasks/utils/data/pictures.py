"""Pictures of decoded frames, upright as planes or RGB or as JPEG, and their coding to a clip in any order."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray


def turns_of(frame: Any) -> int:
    """By how many quarters of a turn, counterclockwise, a frame is to be turned to be upright, 0 to 3."""
    turns: int = round(frame.rotation / 90) % 4
    return turns


def rgb_of(frame: Any, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """A frame upright as (H, W, 3) RGB, equal to decord's to the last bit."""
    # swscale asks for a range of RGB, too, and ignores it. PyAV hands it the matrix only where the two ranges differ.
    source, target = ("JPEG", "MPEG") if has_full_range(frame) else ("MPEG", "JPEG")
    width, height = size or (frame.width, frame.height)
    colours = frame.reformat(width, height, "rgb24", src_color_range=source, dst_color_range=target).to_ndarray()
    return np.ascontiguousarray(np.rot90(colours, turns_of(frame)))


def upright(frame: Any) -> Any:
    """A decoded frame as it is to be shown: a phone's clip may be stored lying on its side."""
    turns = turns_of(frame)
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
    planes: NDArray[np.uint8] = frame.reformat(format=full_format(frame)).to_ndarray()
    return planes


def from_planes(planes: NDArray[np.uint8], like: Any) -> Any:
    """A frame with the brightness and colours of `planes`, (3, H, W), which mean what they mean in the frame `like`."""
    import av

    frame = av.VideoFrame.from_ndarray(planes, format=full_format(like))
    frame.colorspace, frame.color_range = like.colorspace, like.color_range
    return frame


def has_full_range(frame: Any) -> bool:
    return frame.format.name.startswith("yuvj") or int(frame.color_range) == 2


def full_format(frame: Any) -> str:
    return "yuvj444p" if frame.format.name.startswith("yuvj") else "yuv444p"


JPEG_QUALITY = 90


def as_jpeg(picture: NDArray[np.uint8], longest_side: int) -> bytes:
    """A picture as the bytes of a JPEG file of quality 90; the same bytes each time.

    Args:
        picture: (H, W, 3), RGB, from 0 to 255.
        longest_side: Pixels of its longer side; a larger picture is made smaller.
    """
    import cv2

    scale = min(1.0, longest_side / max(picture.shape[:2]))
    if scale < 1.0:
        picture = np.asarray(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    coded = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]
    return coded.tobytes()


KEPT_FORMATS = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p")
"""Forms of pixels that are coded as they are; others become yuv420p, and with an odd side yuv444p."""
# SSE2 is in every such processor. With what the encoder finds by itself bytes differ between processors, and with
# AVX-512 it reads memory that it has not set. These are the bytes that it writes without any of it, in a third of the
# time.
INSTRUCTIONS = "MMX2,SSE2" if platform.machine().lower() in ("x86_64", "amd64") else "0"
"""The processor's instructions that x264 may use, as its parameter `asm` takes them."""
QUALITY = 18
"""Of x264, 0 to 51, where 0 is without loss: a frame of a film has a mean error of about 1 of 255."""


@contextmanager
def h264_file(
    file: Path | IO[bytes],
    rate: int | Fraction,
    size: tuple[int, int],
    coding: Mapping[str, str],
    pixel_format: str = "yuv420p",
    **layout: str,
) -> Iterator[Any]:
    """Write an mp4 with one H.264 stream, whose bytes depend on nothing but its frames and the encoder's version.

    They are the same on all processors of a kind, for x264 uses only what each of these has.

    Args:
        file: Where it is written.
        rate: Frames per second.
        size: Height and width.
        coding: The encoder's options, as FFmpeg has them.
        pixel_format: The form of its pixels, as FFmpeg calls it.
        layout: The file's options, as FFmpeg has them.

    Yields:
        PyAV's stream; what `encode` of it gives is for `container.mux`. Its `codec_context` and the container's
        `metadata` can be changed until the first frame.
    """
    import av
    from av.codec.context import Flags as CodecFlags
    from av.container import Flags as ContainerFlags

    parameters = ":".join([f"asm={INSTRUCTIONS}", *filter(None, [coding.get("x264-params")])])
    options = {"threads": "1", **coding, "x264-params": parameters}
    with av.open(str(file) if isinstance(file, Path) else file, "w", format="mp4", options=layout) as container:
        container.flags |= ContainerFlags.bitexact.value
        stream = container.add_stream("libx264", rate=rate, options=options)
        stream.height, stream.width = size
        stream.pix_fmt = pixel_format
        stream.codec_context.thread_count = 1
        stream.codec_context.flags |= CodecFlags.bitexact.value
        yield stream
        container.mux(stream.encode(None))


class FrameTiming(Protocol):
    """Duration of frames, and the aspect ratio of their pixels."""

    rate: Fraction
    aspect: Fraction

    def durations(self) -> tuple[list[int], Fraction]:
        """For how many ticks each frame is shown, and the seconds of a tick."""


class FrameCoder:
    """Codes frames as H.264 and writes them as an mp4 in any order; used in a `with` block.

    The same frames in the same order give the same bytes.

    Args:
        path: The file to write.
        source: The clip that the frames are of, an open `FrameStream`; or, of pictures, an object with their ``rate``
            in frames a second and the ``aspect`` of a pixel, width to height and 0 for unknown, both fractions, and
            with ``durations()``: for how many ticks each is shown, and the seconds of a tick.
        every_key: Whether each frame can be shown without another one, so that any order will do; else only groups,
            which begin with a key frame, can be moved.
        quality: The rate factor of x264, from 0, which is without loss, to 51. With 18 a frame of a film has a mean
            error of about 1 of 255.
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
            name = full_format(first) if is_odd else "yuv420p"
        self._format = name
        options = {
            "crf": str(self._quality),
            "preset": "superfast",
            "tune": "zerolatency",
            "forced-idr": "1",
            "x264-params": f"asm={INSTRUCTIONS}:keyint={1 if self._every_key else 'infinite'}:scenecut=0",
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
