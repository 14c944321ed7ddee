"""Clips as vLLM takes a video: an array of frames, what is known of their times, and an id by which it is cached."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.models.decoding import ClipRoom, OpenClip
from lmms_eval_tasks.utils.core.files import content_digest
from lmms_eval_tasks.utils.data.frames import source_of
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 2
"""Moves when the same settings give other frames."""
FACTOR = 2
"""Frames are taken in multiples of this: the families that vLLM runs natively merge neighbouring frames in pairs."""
LEAST_BY_RATE = 4
"""Fewest frames where a rate is asked for, as qwen-vl-utils has it."""


@dataclass(frozen=True)
class VideoSampling:
    """Settings for sampling clips, by the names of lmms-eval's vLLM model."""

    nframes: int = 32
    fps: float | None = None
    max_frame_num: int = 768
    max_pixels: int = 1605632

    def positions(self, first: int, count: int, rate: float) -> list[int]:
        """Numbers of the frames that are taken, an even number of them where there are two or more.

        Source: ``smart_nframes`` of qwen-vl-utils 0.0.14, by which lmms-eval's adapters sample; a clip that has too few
        frames for it is taken whole instead of refused.

        Args:
            first: The first frame that may be taken.
            count: How many may be taken, from there on.
            rate: The clip's frames per second.
        """
        if self.fps is None:
            wanted = float(round(self.nframes / FACTOR) * FACTOR)
        else:
            most = self.max_frame_num // FACTOR * FACTOR
            wanted = min(max(count / rate * self.fps, LEAST_BY_RATE), most)
        number = max(int(min(wanted, count)) // FACTOR * FACTOR, min(FACTOR, count))
        step = (count - 1) / (number - 1) if number > 1 else 0.0
        return [first + round(step * place) for place in range(number)]


@dataclass(frozen=True)
class SampledVideo:
    """A clip as vLLM takes it."""

    frames: NDArray[np.uint8]
    metadata: dict[str, Any]
    media_id: str

    @property
    def nbytes(self) -> int:
        """Bytes of its frames."""
        return self.frames.nbytes


def read_video(
    path: str | Path,
    sampling: VideoSampling,
    start: float | None = None,
    end: float | None = None,
    room: ClipRoom | None = None,
) -> SampledVideo:
    """Decode a clip."""
    file, order = source_of(path)
    reader = OpenClip(path, room)
    if reader.fps <= 0:
        raise UnreadableClip(f"Expected {file} to state how many frames a second it has, but it does not.")
    first = min(int((start or 0) * reader.fps), reader.count - 1)
    last = reader.count - 1 if end is None else max(min(int(end * reader.fps), reader.count - 1), first)
    count = last - first + 1
    positions = sampling.positions(first, count, reader.fps)
    frames = _shrink(reader.read(positions), sampling.max_pixels)
    if room is not None:
        room.settle(frames.nbytes)
    metadata = {
        "fps": reader.fps,
        "duration": count / reader.fps,
        "total_num_frames": count,
        "frames_indices": positions,
        "do_sample_frames": False,
    }
    named = [FORMAT, content_digest(file), metadata, list(frames.shape), *filter(None, [order])]
    return SampledVideo(frames, metadata, hashlib.sha256(json.dumps(named).encode()).hexdigest())


def _shrink(frames: NDArray[np.uint8], most: int) -> NDArray[np.uint8]:
    """Frames of no more pixels than the most, in the same shape; (T, H, W, 3)."""
    import cv2
    import numpy as np

    height, width = frames.shape[1:3]
    if height * width <= most:
        return frames
    scale = math.sqrt(most / (height * width))
    size = max(1, int(width * scale)), max(1, int(height * scale))
    small = [cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in frames]
    return np.stack(small).astype(np.uint8, copy=False)
