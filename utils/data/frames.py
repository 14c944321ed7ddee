"""Frames of a clip by their number: by decord, or by PyAV where decord is not installed, which has no wheel for ARM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lmms_eval_tasks.utils.data.coding import upright
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class FrameReader(Protocol):
    """An open clip."""

    count: int
    """How many frames it has."""
    fps: float
    """Its average frame rate."""

    def read(self, positions: Sequence[int]) -> NDArray[np.uint8]:
        """Frames by their number from 0 on, (T, H, W, 3) RGB; ascending numbers are read fastest.

        Raises:
            UnreadableClip: where one cannot be decoded.
        """


def open_frames(path: Path, threads: int = 0) -> FrameReader:
    """Open a clip.

    Args:
        path: The file.
        threads: How many decode; 0 leaves it to the decoder.

    Raises:
        UnreadableClip: where it is no video that can be opened.
    """
    try:
        import decord  # noqa: F401
    except (ImportError, OSError):
        return PyavFrames(path, threads)
    return DecordFrames(path, threads)


class DecordFrames:
    """A clip as decord reads it; see `open_frames`."""

    def __init__(self, path: Path, threads: int = 0) -> None:
        import decord

        self._path, self._errors = path, (decord.DECORDError, RuntimeError, IndexError, ValueError)
        try:
            self._reader: Any = decord.VideoReader(str(path), num_threads=threads)
            self.count, self.fps = len(self._reader), float(self._reader.get_avg_fps())
        except self._errors as error:
            raise UnreadableClip(f"Expected {path} to be a video, but it cannot be opened.") from error

    def read(self, positions: Sequence[int]) -> NDArray[np.uint8]:
        """Frames by their number; see `FrameReader.read`."""
        try:
            batch = self._reader.get_batch(list(positions))
        except self._errors as error:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be decoded.") from error
        # A model of lmms-eval may have set decord to return tensors, for the whole process.
        frames: NDArray[np.uint8] = batch.asnumpy() if hasattr(batch, "asnumpy") else batch.numpy()
        return frames


class PyavFrames:
    """A clip as PyAV reads it, with the same frames, upright; see `open_frames`.

    The times of all frames are read at first, without decoding one. A frame is found by its time, from the key frame
    before it on, and decoding goes on from there for the next.
    """

    def __init__(self, path: Path, threads: int = 0) -> None:
        import av

        self._path, self._errors = path, (av.FFmpegError, OSError, ValueError, IndexError)
        try:
            self._container = av.open(str(path))
            self._stream = self._container.streams.video[0]
            self._stream.thread_type = "AUTO"
            self._stream.codec_context.thread_count = threads
            packets = [packet for packet in self._container.demux(self._stream) if packet.size]
            self._keys = sorted(packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None)
            # What was cut off without coding the rest anew is still there, and is not shown.
            shown = [packet.pts for packet in packets if not packet.is_discard]
            self._times = sorted(time for time in shown if time is not None)
            self.count, self.fps = len(shown), float(self._stream.average_rate or 0.0)
        except self._errors as error:
            raise UnreadableClip(f"Expected {path} to be a video, but it cannot be opened.") from error
        if len(self._times) < self.count or not self._keys:
            raise UnreadableClip(f"Expected {path} to say when each frame is shown, but it does not.")
        self._decoded: Any = None
        self._last = -1

    def read(self, positions: Sequence[int]) -> NDArray[np.uint8]:
        """Frames by their number; see `FrameReader.read`."""
        import numpy as np

        wanted = sorted(set(positions))
        try:
            pictures = {position: self._picture(position) for position in wanted}
        except self._errors as error:
            raise UnreadableClip(f"Expected {self._path} to be a video, but it cannot be decoded.") from error
        return np.stack([pictures[position] for position in positions])

    def _picture(self, position: int) -> NDArray[np.uint8]:
        """One frame; the decoder is moved where that one is behind it, or beyond the next key frame."""
        if not 0 <= position < self.count:
            raise IndexError(position)
        time = self._times[position]
        is_next = self._last < position and not any(self._times[self._last + 1] < key <= time for key in self._keys)
        if self._decoded is None or not is_next:
            self._container.seek(time, stream=self._stream)
            self._decoded = self._container.decode(self._stream)
        for frame in self._decoded:
            if frame.pts is not None and frame.pts >= time:
                break
        else:
            frame = None
        if frame is None or frame.pts != time:
            raise IndexError(position)
        self._last = position
        picture: NDArray[np.uint8] = upright(frame).to_ndarray(format="rgb24")
        return picture
