"""LTX-Video 2B and 13B: flow matching on packed latents; the network takes the frame rate."""

from __future__ import annotations

from typing import Any

import torch
from diffusers import AutoencoderKLLTXVideo, LTXVideoTransformer3DModel

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, expand, load_pipeline
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings


class Ltx(Adapter):
    """Reads ``LTXPipeline`` (up to 0.9.1) and ``LTXConditionPipeline`` (from 0.9.5) checkpoints.

    The latter place a latent frame at its first picture and the former at multiples of the compression, as their
    pipelines do.
    """

    text_outputs = ("embeds", "mask")
    compression_names = ("vae_temporal_compression_ratio", "vae_spatial_compression_ratio")
    flow = Flow()

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a checkpoint; denoiser and VAE come from the family's single file where its row names one."""
        file = settings.family.single_file
        if not file or settings.own_weights:
            return super().load(settings)
        transformer = LTXVideoTransformer3DModel.from_single_file(file, dtype=getattr(torch, settings.dtype))
        vae = AutoencoderKLLTXVideo.from_single_file(file, dtype=getattr(torch, settings.vae_dtype))
        return cls(load_pipeline(settings, transformer=transformer, vae=vae), settings.family, settings.fps)

    def _positions(self, frames: int, height: int, width: int, device: torch.device) -> dict[str, Any]:
        """Where and when each token is, in pixels and seconds."""
        temporal, spatial = self.temporal_compression, self.spatial_compression
        if not hasattr(self.pipe, "_scale_video_ids"):
            return {"rope_interpolation_scale": (temporal / self.fps, spatial, spatial)}
        axes = [torch.arange(size, device=device, dtype=torch.float32) for size in (frames, height, width)]
        time, row, column = torch.meshgrid(*axes, indexing="ij")
        seconds = (time * temporal + 1 - temporal).clamp(min=0) / self.fps
        return {"video_coords": torch.stack([seconds, row * spatial, column * spatial]).flatten(1)[None]}

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; each place of a latent frame is a token."""
        batch, _, frames, height, width = noisy.shape
        positions = self._positions(frames, height, width, noisy.device)
        if "video_coords" in positions:
            positions["video_coords"] = expand(positions["video_coords"], batch)
        inputs = super().network_inputs(noisy.flatten(2).transpose(1, 2), timesteps, text)
        return {**inputs, **positions, "num_frames": frames, "height": height, "width": width}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Velocity towards noise."""
        return super().predict(noisy, timesteps, text).transpose(1, 2).reshape(noisy.shape)


ADAPTER = Ltx
