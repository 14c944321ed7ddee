"""CogVideoX 2B, 5B and 1.5-5B: DDPM with v-prediction and a schedule that ends in pure noise."""

from __future__ import annotations

from typing import Any

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text


class CogVideoX(Adapter):
    """Reads ``CogVideoXPipeline`` checkpoints, whose network takes frames before channels.

    1.5 reads latent frames in pairs; an odd number gets its first one again in front, as in its fine-tuning code.
    """

    def padded_latents(self, latent_frames: int) -> int:
        """How many copies of the first latent frame go before it."""
        return -latent_frames % (self.pipe.transformer.config.patch_size_t or 1)

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window, with the copies in front."""
        latents = super().encode_frames(frames)
        copies = latents[:, :, :1].expand(-1, -1, self.padded_latents(latents.shape[2]), -1, -1)
        return torch.cat([copies, latents], dim=2)

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, with rotary position embeddings where it takes them."""
        rotary = None
        if self.pipe.transformer.config.use_rotary_positional_embeddings:
            frames, height, width = noisy.shape[2:]
            scale = self.spatial_compression
            rotary = self.pipe._prepare_rotary_positional_embeddings(
                height * scale, width * scale, frames, noisy.device
            )
        inputs = super().network_inputs(noisy.transpose(1, 2), timesteps.long(), text)
        return {**inputs, "image_rotary_emb": rotary}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """The v of each clip."""
        return super().predict(noisy, timesteps, text).transpose(1, 2)


ADAPTER = CogVideoX
