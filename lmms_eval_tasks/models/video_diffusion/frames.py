"""Clip files to the frames that a model is shown: chosen by position, scaled to cover its size, cut at the edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from lmms_eval_tasks.utils.data.release import UnreadableClip

FRAMES_AT_ONCE = 16


class ClipFile:
    """An open clip.

    Attributes:
        path: The file.
        frames: Number of its frames.
        fps: Its average frame rate.
        height: Of its frames, in pixels.
        width: Of its frames, in pixels.
    """

    def __init__(self, path: Path) -> None:
        import decord

        self.path = path
        if not path.is_file():
            raise UnreadableClip(f"Expected a clip at {path}, but there is no such file.")
        try:
            self._reader: Any = decord.VideoReader(str(path))
            self.frames = len(self._reader)
            self.fps = float(self._reader.get_avg_fps())
            self.height, self.width = (int(size) for size in self._as_tensor([0]).shape[1:3])
        except (decord.DECORDError, RuntimeError, IndexError, ValueError) as error:
            raise UnreadableClip(f"Expected {path} to be a video, but it cannot be decoded.") from error
        if self.fps <= 0:
            raise UnreadableClip(f"Expected {path} to have a frame rate above 0, but got {self.fps}.")

    def _as_tensor(self, positions: list[int]) -> torch.Tensor:
        batch = self._reader.get_batch(positions)
        return batch if isinstance(batch, torch.Tensor) else torch.from_numpy(batch.asnumpy())

    def read(self, positions: Sequence[float], height: int, width: int) -> torch.Tensor:
        """Decode some frames.

        Args:
            positions: In ascending order; one that ends in .5 is the mean of its two neighbours.
            height: Wanted height in pixels.
            width: Wanted width in pixels.

        Returns:
            uint8 of shape (positions, 3, height, width).

        Raises:
            UnreadableClip: where a frame cannot be decoded.
        """
        import decord

        parts = []
        try:
            for first in range(0, len(positions), FRAMES_AT_ONCE):
                some = positions[first : first + FRAMES_AT_ONCE]
                low = self._as_tensor([math.floor(position) for position in some]).float()
                high = self._as_tensor([math.ceil(position) for position in some]).float()
                parts.append(cover((low + high).div_(2).permute(0, 3, 1, 2), height, width))
        except (decord.DECORDError, RuntimeError, IndexError) as error:
            raise UnreadableClip(f"Expected {self.path} to be a video, but it cannot be decoded to its end.") from error
        return torch.cat(parts)


def cover(frames: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Scale frames (n, 3, h, w) of 0-255 until they cover a size, keep the middle, and round to uint8."""
    scale = max(height / frames.shape[2], width / frames.shape[3])
    size = (max(height, round(frames.shape[2] * scale)), max(width, round(frames.shape[3] * scale)))
    if size != tuple(frames.shape[2:]):
        frames = torch.nn.functional.interpolate(frames, size=size, mode="bicubic", antialias=True)
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    return frames[:, :, top : top + height, left : left + width].round().clamp(0, 255).to(torch.uint8)


def to_pixels(frames: torch.Tensor, device: torch.device) -> torch.Tensor:
    """uint8 frames (n, 3, h, w) to a window (1, 3, n, h, w) of -1 to 1."""
    return frames.to(device).float().div(127.5).sub(1).transpose(0, 1)[None]
