"""Mochi 1: flow matching whose time runs from noise to data, and whose velocity points at the data."""

from __future__ import annotations

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, expand, per_channel, posterior_mean
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.utils.denoising.protocol import TRAIN_STEPS


class Mochi(Adapter):
    """Reads ``MochiPipeline`` checkpoints."""

    noising = Flow(towards="data")

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of."""
        return int(self.pipe.vae.spatial_compression_ratio * self.pipe.transformer.config.patch_size)

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption."""
        embeds, mask, *_ = self.encode_prompt(caption, device)
        return {"embeds": embeds, "mask": mask}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window."""
        config = self.pipe.vae.config
        mean = posterior_mean(self.pipe.vae, frames)
        if config.latents_mean is not None and config.latents_std is not None:
            mean = (mean - per_channel(config.latents_mean, mean)) / per_channel(config.latents_std, mean)
        return mean * config.scaling_factor

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Velocity towards the data."""
        network = self.pipe.transformer
        said: torch.Tensor = network(
            hidden_states=noisy.to(network.dtype),
            encoder_hidden_states=expand(text["embeds"], len(noisy)).to(network.dtype),
            timestep=TRAIN_STEPS - timesteps,
            encoder_attention_mask=expand(text["mask"], len(noisy)),
            return_dict=False,
        )[0]
        return said.float()


ADAPTER = Mochi
