"""A pair of clip files to the latents of its windows; each file is decoded once and each window encoded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter
from lmms_eval_tasks.models.video_diffusion.frames import ClipFile, to_pixels
from lmms_eval_tasks.models.video_diffusion.placement import Placement
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings
from lmms_eval_tasks.utils.denoising.protocol import (
    Plan,
    Window,
    available_frames,
    centred_positions,
    leading_positions,
    plan_windows,
)
from lmms_eval_tasks.utils.denoising.response import FramesRecord

UNEQUAL_FRAMES = 2
UNEQUAL_PART = 0.05


class UnequalClips(ValueError):
    """Two files are not one clip and its reversal."""


@dataclass(frozen=True)
class EncodedPair:
    """A pair as the network takes it.

    Attributes:
        plan: Which frames are used and how they are cut.
        latents: Direction to one tensor per window, of shape (1, channels, latent frames, height, width).
        skipped: Per window, the latent frames at its beginning that stay out of the loss.
        frames: How the files' frames became the model's.
    """

    plan: Plan
    latents: Mapping[str, list[torch.Tensor]]
    skipped: list[int]
    frames: FramesRecord

    @property
    def counted(self) -> list[int]:
        """Per window, the latent frames in the loss."""
        windows = zip(self.latents["forward"], self.skipped, strict=True)
        return [int(latents.shape[2]) - skipped for latents, skipped in windows]


def encode_pair(
    forward: ClipFile, backward: ClipFile, adapter: Adapter, settings: DenoisingSettings, placement: Placement
) -> EncodedPair:
    """Decode both files and encode their windows.

    Raises:
        UnequalClips: their numbers of frames differ too much.
        ShortClip: they have too few frames for the model.
        UnreadableClip: a frame cannot be decoded.
    """
    most = max(forward.frames, backward.frames)
    if abs(forward.frames - backward.frames) > max(UNEQUAL_FRAMES, UNEQUAL_PART * most):
        raise UnequalClips(
            f"Expected {forward.path.name} and {backward.path.name} to be one clip and its reversal, but they have "
            f"{forward.frames} and {backward.frames} frames."
        )
    files = {"forward": forward, "backward": backward}
    height, width = settings.size_for(*max((file.height, file.width) for file in files.values()))
    centred = settings.protocol.anchor == "centre"
    # One rate for both, so that files whose headers differ a little still show the same pictures.
    rate = (forward.fps + backward.fps) / 2
    steps = {name: (rate if centred else file.fps) / settings.fps for name, file in files.items()}
    leading = {name: leading_positions(file.frames, steps[name]) for name, file in files.items()}
    available = min(
        available_frames(file.frames, steps[name]) if centred else len(leading[name]) for name, file in files.items()
    )
    plan = plan_windows(available, settings.frames, adapter.temporal_compression, settings.protocol.windows)
    latents = {}
    for name, file in files.items():
        positions = centred_positions(file.frames, steps[name], plan.used) if centred else leading[name]
        pictures = file.read(positions[: plan.used], height, width)
        placement.bring(adapter.pipe.vae)
        latents[name] = [
            adapter.encode_frames(to_pixels(pictures[window.start : window.stop], placement.device))
            for window in plan.windows
        ]
    frames = FramesRecord(
        forward=forward.frames,
        backward=backward.frames,
        file_fps=forward.fps,
        used=plan.used,
        fps=settings.fps,
        height=height,
        width=width,
    )
    # Both directions have the same windows, and a model encodes windows of one length to one number of latent frames.
    skipped = [_skipped(window, part, adapter) for window, part in zip(plan.windows, latents["forward"], strict=True)]
    return EncodedPair(plan, latents, skipped, frames)


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
