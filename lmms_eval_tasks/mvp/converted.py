"""Clips that MVP's sources do not have as MP4: made of a WebM, of numbered pictures, or of a robot's episode."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.api.clips import FrameCoder, FrameStream
from lmms_eval_tasks.api.release import DamagedSource, UnreadableClip
from lmms_eval_tasks.mvp.episodes import read_frames
from lmms_eval_tasks.mvp.tfrecord import TfRecord

FORMAT = 1
"""Grows when the same source is to be made into another clip."""
PICTURES = tuple(f"scene_{number:03d}.png" for number in range(1, 101))
"""Pictures of a clip of IntPhys."""
PICTURES_RATE = 24
EPISODE_RATE = 5
KEY_EVERY = 48
"""Frames from one that can be shown without another to the next, so that none is far from where a reader must begin."""
SLACK = 0.25
"""Seconds by which a clip's last frame may end before the length that its header states, beside two frames."""
_BT601, _NARROW = 5, 1
_AGAIN = "get it again, or delete it to go on without this clip."


class PictureTiming:
    """Pictures that are shown one after the other, each equally long; their pixels are square."""

    def __init__(self, rate: int, count: int) -> None:
        self.rate, self.aspect, self._count = Fraction(rate), Fraction(0), count

    def durations(self) -> tuple[list[int], Fraction]:
        """One tick for each picture."""
        return [1] * self._count, 1 / self.rate


class ConvertedClip(ABC):
    """A clip that is made, and carries the mark of what it was made of."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes of the source, which is about as many as the clip takes, or more."""

    @property
    @abstractmethod
    def where(self) -> str:
        """The source, as the user knows it."""

    @cached_property
    def mark(self) -> str:
        """Mark of the clip's source, which the clip carries."""
        return f"{FORMAT} {self._digest()}"

    def is_made(self, path: Path) -> bool:
        """Whether a file says that it was made of this source."""
        return _mark_of(path) == self.mark

    def make(self, path: Path) -> None:
        """Write it and decode it to its end."""
        try:
            count = self._write(path)
            with FrameStream(path) as clip:
                decoded = sum(1 for _ in clip.frames())
            if decoded != count:
                raise UnreadableClip(f"Expected the clip that was made to have {count} frames, but got {decoded}.")
        except UnreadableClip as error:
            raise DamagedSource(self.where, str(error), _AGAIN) from error

    @abstractmethod
    def _digest(self) -> str:
        """Another text for every other source."""

    @abstractmethod
    def _write(self, path: Path) -> int:
        """Write it; how many frames it has."""


@dataclass(frozen=True)
class WebmClip(ConvertedClip):
    """A WebM as an MP4, with its frames' own times."""

    path: Path
    where = "ssv2"

    @property
    def size(self) -> int:
        """Bytes of the source, which the clip takes about as many of."""
        return self.path.stat().st_size

    def _digest(self) -> str:
        return _sha256(self.path)

    def _write(self, path: Path) -> int:
        with FrameStream(self.path) as source, FrameCoder(path, source, comment=self.mark) as coder:
            count = _add(coder, source.frames())
            stated = source.stated_seconds()
            if stated is not None and source.seconds_of_last_frame() + 2 / source.rate + SLACK < stated:
                raise UnreadableClip(f"Expected {self.path} to last {stated:.2f} seconds, but it was cut off.")
            coder.write(range(count))
        return count


@dataclass(frozen=True)
class PictureClip(ConvertedClip):
    """The numbered pictures of a folder as an MP4; all of them are there."""

    folder: Path

    @property
    def size(self) -> int:
        """Bytes of the pictures, which is more than the clip takes."""
        return sum((self.folder / name).stat().st_size for name in PICTURES)

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    def _digest(self) -> str:
        digests = [_sha256(self.folder / name) for name in PICTURES]
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()

    def _write(self, path: Path) -> int:
        return _code(path, self._pictures(), len(PICTURES), PICTURES_RATE, self.mark)

    def _pictures(self) -> Iterator[NDArray[np.uint8]]:
        from PIL import Image

        size: tuple[int, int] | None = None
        for name in PICTURES:
            try:
                with Image.open(self.folder / name) as image:
                    picture = np.asarray(image.convert("RGB"))
            except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
                raise UnreadableClip(f"Expected {name} to be a picture, but it cannot be decoded.") from error
            size = size or picture.shape[:2]
            if picture.shape[:2] != size:
                raise UnreadableClip(f"Expected pictures of one size, but that of {name} is another.")
            yield picture


@dataclass(frozen=True)
class EpisodeClip(ConvertedClip):
    """An episode's pictures as an MP4."""

    number: int
    record: TfRecord

    @property
    def size(self) -> int:
        """Bytes of the record, which is more than the clip takes."""
        return self.record.size

    @property
    def where(self) -> str:
        """The record's file, and the episode."""
        return f"{self.record.path}, episode {self.number}"

    def _digest(self) -> str:
        # The file states the checksum, so that an episode that is already made is not read.
        return f"{self.record.size}-{self.record.checksum:08x}"

    def _write(self, path: Path) -> int:
        pictures = list(read_frames(self.record))
        return _code(path, iter(pictures), len(pictures), EPISODE_RATE, self.mark)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _mark_of(path: Path) -> str | None:
    """Return the mark of a made clip's source, or None if there is no such clip."""
    import av

    if path.is_symlink() or not path.is_file():
        return None
    try:
        with av.open(str(path)) as container:
            mark: str | None = container.metadata.get("comment")
            return mark
    except (av.FFmpegError, OSError, ValueError):
        return None


def _code(path: Path, pictures: Iterable[NDArray[np.uint8]], count: int, rate: int, mark: str) -> int:
    with FrameCoder(path, PictureTiming(rate, count), comment=mark) as coder:
        _add(coder, map(frame_of, pictures))
        coder.write(range(count))
    return count


def _add(coder: FrameCoder, frames: Iterable[Any]) -> int:
    """Code frames in their order; how many there are."""
    count = 0
    for count, frame in enumerate(frames, 1):
        coder.add(count - 1, frame, is_key=(count - 1) % KEY_EVERY == 0)
    return count


def frame_of(picture: NDArray[np.uint8]) -> Any:
    """A picture, (H, W, 3) RGB, as a frame of a video: brightness and colours by ITU-R BT.601, 16 to 235 and to 240."""
    import av

    pixels = picture.astype(np.int32)
    height, width = pixels.shape[:2]
    is_odd = height % 2 or width % 2
    shared = pixels if is_odd else (pixels.reshape(height // 2, 2, width // 2, 2, 3).sum(axis=(1, 3)) + 2) >> 2
    planes = [
        ((image @ np.array(weights, dtype=np.int32) + 128) >> 8) + zero
        for image, weights, zero in (
            (pixels, (66, 129, 25), 16),
            (shared, (-38, -74, 112), 128),
            (shared, (112, -94, -18), 128),
        )
    ]
    packed = np.concatenate([plane.astype(np.uint8).ravel() for plane in planes])
    shape, name = ((3, height, width), "yuv444p") if is_odd else ((height * 3 // 2, width), "yuv420p")
    frame = av.VideoFrame.from_ndarray(packed.reshape(shape), format=name)
    frame.colorspace, frame.color_range = _BT601, _NARROW
    return frame
