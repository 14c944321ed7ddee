"""Wan 2.1 and 2.2: flow matching; 2.2 A14B has a second network for low noise, 2.2 TI2V takes the time per token."""

from __future__ import annotations

import math
from typing import Any

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text
from lmms_eval_tasks.models.video_diffusion.noising import Flow


class Wan(Adapter):
    """Reads ``WanPipeline`` checkpoints."""

    denoiser_names = ("transformer", "transformer_2")
    flow = Flow()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if "transformer_2" in self.denoisers:
            self.boundary = self.pipe.config.boundary_ratio

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; the time once for each token where the checkpoint takes it so."""
        inputs = super().network_inputs(noisy, timesteps, text)
        if self.pipe.config.expand_timesteps:
            tokens = noisy[0, 0].numel() // math.prod(self.pipe.transformer.config.patch_size)
            inputs["timestep"] = timesteps[:, None].expand(-1, tokens)
        return inputs


ADAPTER = Wan
