"""HunyuanVideo: flow matching; the released weights are distilled from guidance and take its strength as an input."""

from __future__ import annotations

from typing import Any

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.utils.denoising.protocol import TRAIN_STEPS


class HunyuanVideo(Adapter):
    """Reads ``HunyuanVideoPipeline`` checkpoints."""

    text_encoder_names = ("text_encoder", "text_encoder_2")
    text_outputs = ("embeds", "pooled", "mask")
    flow = Flow()

    def encode_prompt(self, caption: str, device: torch.device) -> tuple[Any, ...]:
        """What both text encoders give for one caption; this pipeline's method has no guidance to turn off."""
        encoded: tuple[Any, ...] = self.pipe.encode_prompt(
            caption, max_sequence_length=self.family.text_tokens, device=device
        )
        return encoded

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, with the strength of guidance where it takes one."""
        guidance = None
        if self.pipe.transformer.config.guidance_embeds:
            strength = float(self.family.options.get("embedded_guidance", 1.0)) * TRAIN_STEPS
            guidance = torch.full((len(noisy),), strength, dtype=noisy.dtype, device=noisy.device)
        text = {**text, "mask": text["mask"].to(noisy.dtype)}
        inputs = super().network_inputs(noisy, timesteps, text)
        return {**inputs, "pooled_projections": text["pooled"], "guidance": guidance}


ADAPTER = HunyuanVideo
