"""Latents of clips' windows, each file decoded once and each window encoded once, and placement of a model's parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import torch

from lmms_eval_tasks.models.base import free_memory
from lmms_eval_tasks.models.clip_reading import ClipRoom, OpenClip
from lmms_eval_tasks.models.video_diffusion.adapters import Adapter
from lmms_eval_tasks.models.video_diffusion.protocol import (
    Window,
    available_frames,
    centred_positions,
    leading_positions,
    plan_windows,
)
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings
from lmms_eval_tasks.utils.answers.losses import WindowRecord
from lmms_eval_tasks.utils.data.release import UnreadableClip

Offload = Literal["none", "parts", "layers"]


class Placement:
    """Brings the part that is needed to the device."""

    def __init__(self, device: torch.device, offload: Offload = "none") -> None:
        self.device, self.offload = device, offload
        self._here: list[torch.nn.Module] = []
        self._hooked: list[torch.nn.Module] = []

    def bring(self, *modules: torch.nn.Module) -> None:
        """Make some modules ready to be called; with ``parts``, all others leave the device first."""
        if self.offload == "layers":
            from accelerate import cpu_offload

            for module in modules:
                if module not in self._hooked:
                    cpu_offload(module, execution_device=self.device)
                    self._hooked.append(module)
            return
        if self.offload == "parts":
            self.send_away(*(module for module in self._here if module not in modules))
        for module in modules:
            if module not in self._here:
                module.to(self.device)
                self._here.append(module)

    def send_away(self, *modules: torch.nn.Module) -> None:
        """Move modules that are no longer needed to main memory; layers that come one by one are there already."""
        for module in modules:
            if module in self._here:
                module.to("cpu")
                self._here.remove(module)
        free_memory()


FRAMES_AT_ONCE = 16
UNEQUAL_FRAMES = 2
UNEQUAL_PART = 0.05


class ClipFile:
    def __init__(self, path: Path, room: ClipRoom | None = None) -> None:
        self.path = path
        if not path.is_file():
            raise UnreadableClip(f"Expected a clip at {path}, but there is no such file.")
        self._reader = OpenClip(path, room)
        self.frames, self.fps = self._reader.count, self._reader.fps
        self.height, self.width = (int(size) for size in self._reader.read([0]).shape[1:3])
        if self.fps <= 0:
            raise UnreadableClip(f"Expected {path} to have a frame rate above 0, but got {self.fps}.")

    def read(self, positions: Sequence[float], height: int, width: int) -> torch.Tensor:
        parts = []
        for first in range(0, len(positions), FRAMES_AT_ONCE):
            some = positions[first : first + FRAMES_AT_ONCE]
            numbers = sorted({number for position in some for number in (math.floor(position), math.ceil(position))})
            pictures = torch.from_numpy(self._reader.read(numbers))
            low = pictures[[numbers.index(math.floor(position)) for position in some]].float()
            high = pictures[[numbers.index(math.ceil(position)) for position in some]].float()
            parts.append(cover((low + high).div_(2).permute(0, 3, 1, 2), height, width))
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


class UnequalClips(ValueError):
    """The losses of files cannot be compared: two are not one clip and its reversal, or their shapes differ."""


@dataclass(frozen=True)
class DecodedClips:
    """Clips as they are encoded, all cut alike."""

    windows: Sequence[Window]
    pictures: Sequence[torch.Tensor]
    files: list[int]
    file_fps: float


@dataclass(frozen=True)
class EncodedClips:
    """Clips as the network takes them, all cut alike."""

    windows: list[WindowRecord]
    latents: list[list[torch.Tensor]]
    skipped: list[int]
    files: list[int]
    file_fps: float
    used: int
    size: tuple[int, int]


def check_reversal(files: Sequence[ClipFile]) -> None:
    """Refuse two files that are not one clip and its reversal."""
    forward, backward = files
    most = max(forward.frames, backward.frames)
    if abs(forward.frames - backward.frames) > max(UNEQUAL_FRAMES, UNEQUAL_PART * most):
        raise UnequalClips(
            f"Expected {forward.path.name} and {backward.path.name} to be one clip and its reversal, but they have "
            f"{forward.frames} and {backward.frames} frames."
        )


def check_same_shape(files: Sequence[ClipFile]) -> None:
    shapes = [f"{file.frames} frames of {file.width}x{file.height} at {file.fps:.6g} a second" for file in files]
    if len(set(shapes)) > 1:
        found = ", ".join(f"{file.path.name} has {shape}" for file, shape in zip(files, shapes, strict=True))
        raise UnequalClips(f"Expected clips of the same frames, size and rate, but {found}.")


def decode_clips(
    files: Sequence[ClipFile], settings: DenoisingSettings, compression: int, room: ClipRoom | None = None
) -> DecodedClips:
    height, width = settings.size_for(*max((file.height, file.width) for file in files))
    centred = settings.protocol.anchor == "centre"
    # One rate for all, so that files whose headers differ a little still show the same pictures.
    rate = sum(file.fps for file in files) / len(files)
    steps = [(rate if centred else file.fps) / settings.fps for file in files]
    leading = [leading_positions(file.frames, step) for file, step in zip(files, steps, strict=True)]
    available = min(
        available_frames(file.frames, step) if centred else len(lead)
        for file, step, lead in zip(files, steps, leading, strict=True)
    )
    windows = plan_windows(available, settings.frames, compression, settings.protocol.windows)
    used = windows[-1].stop
    pictures = []
    for file, step, lead in zip(files, steps, leading, strict=True):
        positions = centred_positions(file.frames, step, used) if centred else lead
        pictures.append(file.read(positions[:used], height, width))
    if room is not None:
        room.settle(sum(one.nbytes for one in pictures))
    return DecodedClips(windows, pictures, [file.frames for file in files], files[0].fps)


def encode_clips(clips: DecodedClips, adapter: Adapter, placement: Placement) -> EncodedClips:
    placement.bring(adapter.pipe.vae)
    windows = clips.windows
    latents = [
        [adapter.encode_frames(to_pixels(pictures[window.start : window.stop], placement.device)) for window in windows]
        for pictures in clips.pictures
    ]
    # All have the same windows, and a model encodes windows of one length to one number of latent frames.
    skipped = [_skipped(window, part, adapter) for window, part in zip(windows, latents[0], strict=True)]
    records = [
        WindowRecord(**asdict(window), latents=part.shape[2] - left_out)
        for window, part, left_out in zip(windows, latents[0], skipped, strict=True)
    ]
    height, width = clips.pictures[0].shape[2:]
    return EncodedClips(records, latents, skipped, clips.files, clips.file_fps, windows[-1].stop, (height, width))


def _skipped(window: Window, latents: torch.Tensor, adapter: Adapter) -> int:
    """Latent frames of a window that stay out of the loss: what saw borrowed frames, and the family's padding."""
    frames = window.stop - window.start
    latent_frames = 1 + (frames - 1) // adapter.temporal_compression
    padding = adapter.padded_latents(latent_frames)
    if latents.shape[2] != latent_frames + padding:
        raise RuntimeError(
            f"Expected {latent_frames + padding} latent frames for {frames} frames, but the VAE gave "
            f"{latents.shape[2]}."
        )
    return padding + window.skipped
