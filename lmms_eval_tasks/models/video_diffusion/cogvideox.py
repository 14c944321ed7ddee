"""CogVideoX 2B, 5B and 1.5-5B: DDPM with v-prediction and a schedule that ends in pure noise."""

from __future__ import annotations

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, ddpm_noising, expand, posterior_mean


class CogVideoX(Adapter):
    """Reads ``CogVideoXPipeline`` checkpoints.

    1.5 reads latent frames in pairs; an odd number gets its first one again in front, as in its fine-tuning code.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.noising = ddpm_noising(self.pipe.scheduler)

    @property
    def temporal_compression(self) -> int:
        """Frames per latent frame after the first."""
        return int(self.pipe.vae.config.temporal_compression_ratio)

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of."""
        return int(self.pipe.vae_scale_factor_spatial * self.pipe.transformer.config.patch_size)

    def padded_latents(self, latent_frames: int) -> int:
        """How many copies of the first latent frame go before it."""
        return -latent_frames % (self.pipe.transformer.config.patch_size_t or 1)

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption."""
        embeds, _ = self.encode_prompt(caption, device)
        return {"embeds": embeds}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window."""
        mean = posterior_mean(self.pipe.vae, frames) * self.pipe.vae.config.scaling_factor
        copies = mean[:, :, :1].expand(-1, -1, self.padded_latents(mean.shape[2]), -1, -1)
        return torch.cat([copies, mean], dim=2)

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """The v of each clip; the network takes frames before channels."""
        network = self.pipe.transformer
        rotary = None
        if network.config.use_rotary_positional_embeddings:
            frames, height, width = noisy.shape[2:]
            scale = self.pipe.vae_scale_factor_spatial
            rotary = self.pipe._prepare_rotary_positional_embeddings(
                height * scale, width * scale, frames, noisy.device
            )
        said: torch.Tensor = network(
            hidden_states=noisy.transpose(1, 2).to(network.dtype),
            encoder_hidden_states=expand(text["embeds"], len(noisy)).to(network.dtype),
            timestep=timesteps.long(),
            image_rotary_emb=rotary,
            return_dict=False,
        )[0]
        return said.transpose(1, 2).float()


ADAPTER = CogVideoX
