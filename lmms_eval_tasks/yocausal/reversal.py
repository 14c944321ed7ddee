"""Own videos to a clip and its reversal that differ in nothing but the order of their frames."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api.clips import FrameStream
from lmms_eval_tasks.api.release import UnreadableClip

FORMATS = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuv444p"})
MOST_BYTES = 4_000_000_000
"""Of decoded frames, which must all be in memory to be reversed."""
# `asm=0` as in the sample: with AVX-512 the encoder reads memory that it has not set, and bytes vary.
OPTIONS = {"qp": "0", "preset": "veryfast", "threads": "1", "x264-params": "asm=0"}


@dataclass(frozen=True)
class Video:
    """A user's video, opened once."""

    path: Path
    frames: int
    rate: Fraction
    seconds: float | None
    decoded: int


def video_key(path: Path, seconds: float | None) -> str:
    """Eight digits that change with a file and with how much of it is shown."""
    facts = path.stat()
    text = f"{facts.st_size}\0{facts.st_mtime_ns}\0{seconds}\0{sorted(OPTIONS.items())}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def open_video(path: Path, seconds: float | None) -> Video:
    """Look at a video's header and first frame."""
    try:
        with FrameStream(path) as stream:
            decoded = stream.frames(as_stored=True)
            first = next(decoded)
            frames = stream.stated_frames or 1 + sum(1 for _ in decoded)
    except UnreadableClip:
        raise UnreadableClip("it cannot be decoded") from None
    if stream.fps <= 0:
        raise ValueError("Expected a frame rate, but its header has none.")
    if getattr(first, "rotation", 0):
        raise ValueError(
            f"Expected upright frames, but they are to be turned by {first.rotation}°; store them upright."
        )
    if seconds is not None:
        frames = round(min(frames, max(1, seconds * stream.fps)))
    if frames < 2:
        raise ValueError(f"Expected at least 2 frames, but got {frames}.")
    size = frames * first.width * first.height * 3 // 2
    if size > MOST_BYTES:
        raise ValueError(
            f"Expected at most {MOST_BYTES / 1e9:.0f} GB of decoded frames, but {frames} are {size / 1e9:.1f} GB; "
            "give --seconds."
        )
    return Video(path, frames, stream.rate, seconds, size)


@dataclass(frozen=True)
class DirectedClip:
    """A video's frames in one direction, to be written into the data home; its name there holds the video's key."""

    video: Video | None
    backwards: bool

    @property
    def size(self) -> int:
        """A guess of what lossless H.264 takes: a third of the decoded frames."""
        return self.video.decoded // 3 if self.video else 0

    def is_made(self, path: Path) -> bool:
        """Whether an earlier build wrote a file under this name."""
        return self.video is not None and path.is_file()

    def make(self, path: Path) -> None:
        """Write it."""
        import av

        if self.video is None:
            raise UnreadableClip("it cannot be decoded")
        try:
            with FrameStream(self.video.path) as stream:
                frames = list(islice(stream.frames(as_stored=True), self.video.frames))
            write_lossless(path, frames[::-1] if self.backwards else frames, self.video.rate)
        except (av.FFmpegError, ValueError, IndexError) as error:
            raise UnreadableClip(str(error)) from error


def write_lossless(path: Path, frames: list[Any], rate: Fraction) -> None:
    """Write decoded frames as an mp4 with one H.264 stream, without loss; the same frames give the same bytes."""
    import av
    from av.codec.context import Flags as CodecFlags
    from av.container import Flags as ContainerFlags

    first = frames[0]
    pixel_format = first.format.name if first.format.name in FORMATS else "yuv420p"
    if first.width % 2 or first.height % 2:
        pixel_format = "yuv444p"
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        container.flags |= ContainerFlags.bitexact.value
        stream = container.add_stream("libx264", rate=rate, options=OPTIONS)
        stream.width, stream.height, stream.pix_fmt = first.width, first.height, pixel_format
        context = stream.codec_context
        context.thread_count = 1
        context.max_b_frames = 0
        context.flags |= CodecFlags.bitexact.value
        context.color_range, context.colorspace = first.color_range, first.colorspace
        for number, frame in enumerate(frames):
            # What changes its size midway is shown in its first size.
            alike = (frame.format.name, frame.width, frame.height) == (pixel_format, first.width, first.height)
            picture = frame if alike else frame.reformat(first.width, first.height, pixel_format)
            picture.pts, picture.time_base = number, 1 / rate
            picture.pict_type = 0
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
