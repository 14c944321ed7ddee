"""Wan 2.1 and 2.2: flow matching; 2.2 A14B hands low noise to a second network, 2.2 TI2V is told the time per token."""

from __future__ import annotations

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, expand, per_channel, posterior_mean
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.utils.denoising.protocol import TRAIN_STEPS


class Wan(Adapter):
    """Reads ``WanPipeline`` checkpoints."""

    denoiser_names = ("transformer", "transformer_2")
    noising = Flow()

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        if "transformer_2" in self.denoisers:
            self.boundary = self.pipe.config.boundary_ratio

    @property
    def temporal_compression(self) -> int:
        """Frames per latent frame after the first."""
        return int(self.pipe.vae.config.scale_factor_temporal)

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of."""
        return int(self.pipe.vae.config.scale_factor_spatial * self._patch[1])

    @property
    def _patch(self) -> tuple[int, int, int]:
        patch: tuple[int, int, int] = tuple(self.pipe.transformer.config.patch_size)
        return patch

    def expert(self, timestep: float) -> str:
        """The first network for high noise, the second below the boundary."""
        low = self.boundary is not None and timestep < self.boundary * TRAIN_STEPS
        return self.denoiser_names[1 if low else 0]

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption."""
        embeds, _ = self.encode_prompt(caption, device)
        return {"embeds": embeds}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window."""
        config = self.pipe.vae.config
        mean = posterior_mean(self.pipe.vae, frames)
        return (mean - per_channel(config.latents_mean, mean)) / per_channel(config.latents_std, mean)

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Velocity towards noise."""
        network = self.denoisers[self.expert(float(timesteps[0]))]
        time = timesteps
        if self.pipe.config.expand_timesteps:
            tokens = noisy[0, 0].numel() // (self._patch[0] * self._patch[1] * self._patch[2])
            time = timesteps[:, None].expand(-1, tokens)
        said: torch.Tensor = network(
            hidden_states=noisy.to(network.dtype),
            timestep=time,
            encoder_hidden_states=expand(text["embeds"], len(noisy)).to(network.dtype),
            return_dict=False,
        )[0]
        return said.float()


ADAPTER = Wan
