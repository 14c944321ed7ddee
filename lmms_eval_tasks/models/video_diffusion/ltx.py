"""LTX-Video 2B and 13B: flow matching on packed latents, told the frame rate."""

from __future__ import annotations

from typing import Any

import torch
from diffusers import AutoencoderKLLTXVideo, LTXVideoTransformer3DModel

from lmms_eval_tasks.models.video_diffusion.adapter import (
    Adapter,
    Source,
    Text,
    expand,
    load_pipeline,
    per_channel,
    posterior_mean,
)
from lmms_eval_tasks.models.video_diffusion.families import Family
from lmms_eval_tasks.models.video_diffusion.noising import Flow


class Ltx(Adapter):
    """Reads ``LTXPipeline`` (up to 0.9.1) and ``LTXConditionPipeline`` (from 0.9.5) checkpoints.

    The latter place a latent frame at its first picture and the former at multiples of the compression, as their
    pipelines do.
    """

    noising = Flow()

    @classmethod
    def load(cls, family: Family, source: Source, fps: float) -> Adapter:
        """Load a checkpoint; the family's own weights may be a file beside the checkpoint with the rest."""
        components: dict[str, Any] = {}
        if family.single_file and not source.own_weights:
            components = {
                "transformer": LTXVideoTransformer3DModel.from_single_file(family.single_file, dtype=source.dtype),
                "vae": AutoencoderKLLTXVideo.from_single_file(family.single_file, dtype=source.vae_dtype),
            }
        return cls(load_pipeline(source, **components), family, fps)

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of."""
        return int(self.pipe.vae_spatial_compression_ratio * self.pipe.transformer_spatial_patch_size)

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption."""
        embeds, mask, *_ = self.encode_prompt(caption, device)
        return {"embeds": embeds, "mask": mask}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window."""
        vae = self.pipe.vae
        mean = posterior_mean(vae, frames)
        shifted = mean - per_channel(vae.latents_mean.float(), mean)
        return shifted * vae.config.scaling_factor / per_channel(vae.latents_std.float(), mean)

    def _positions(self, frames: int, height: int, width: int, device: torch.device) -> dict[str, Any]:
        """What tells the network where and when each token is, in pixels and seconds."""
        temporal, spatial = self.temporal_compression, self.pipe.vae_spatial_compression_ratio
        if not hasattr(self.pipe, "_scale_video_ids"):
            return {"rope_interpolation_scale": (temporal / self.fps, spatial, spatial)}
        axes = [torch.arange(size, device=device, dtype=torch.float32) for size in (frames, height, width)]
        time, row, column = torch.meshgrid(*axes, indexing="ij")
        seconds = (time * temporal + 1 - temporal).clamp(min=0) / self.fps
        places = torch.stack([seconds, row * spatial, column * spatial])
        return {"video_coords": places.flatten(1)[None]}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Velocity towards noise; each place of a latent frame is a token."""
        network = self.pipe.transformer
        batch, channels, frames, height, width = noisy.shape
        positions = self._positions(frames, height, width, noisy.device)
        if "video_coords" in positions:
            positions["video_coords"] = expand(positions["video_coords"], batch)
        said: torch.Tensor = network(
            hidden_states=noisy.flatten(2).transpose(1, 2).to(network.dtype),
            encoder_hidden_states=expand(text["embeds"], batch).to(network.dtype),
            timestep=timesteps,
            encoder_attention_mask=expand(text["mask"], batch),
            num_frames=frames,
            height=height,
            width=width,
            return_dict=False,
            **positions,
        )[0]
        return said.transpose(1, 2).reshape(batch, channels, frames, height, width).float()


ADAPTER = Ltx
