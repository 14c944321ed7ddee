"""HunyuanVideo: flow matching; the released weights are distilled from guidance and told how much of it to show."""

from __future__ import annotations

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, expand, posterior_mean
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.utils.denoising.protocol import TRAIN_STEPS


class HunyuanVideo(Adapter):
    """Reads ``HunyuanVideoPipeline`` checkpoints."""

    text_encoder_names = ("text_encoder", "text_encoder_2")
    noising = Flow()

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of."""
        return int(self.pipe.vae_scale_factor_spatial * self.pipe.transformer.config.patch_size)

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption, for both text encoders."""
        embeds, pooled, mask = self.pipe.encode_prompt(
            caption, max_sequence_length=self.family.text_tokens, device=device
        )
        return {"embeds": embeds, "pooled": pooled, "mask": mask}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window."""
        return posterior_mean(self.pipe.vae, frames) * self.pipe.vae.config.scaling_factor

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Velocity towards noise."""
        network = self.pipe.transformer
        batch = len(noisy)
        guidance = None
        if network.config.guidance_embeds:
            shown = float(self.family.options.get("embedded_guidance", 1.0)) * TRAIN_STEPS
            guidance = torch.full((batch,), shown, dtype=network.dtype, device=noisy.device)
        said: torch.Tensor = network(
            hidden_states=noisy.to(network.dtype),
            timestep=timesteps,
            encoder_hidden_states=expand(text["embeds"], batch).to(network.dtype),
            encoder_attention_mask=expand(text["mask"], batch).to(network.dtype),
            pooled_projections=expand(text["pooled"], batch).to(network.dtype),
            guidance=guidance,
            return_dict=False,
        )[0]
        return said.float()


ADAPTER = HunyuanVideo
