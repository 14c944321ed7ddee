"""Mochi 1: flow matching whose time runs from noise to data, and whose velocity points at the data."""

from __future__ import annotations

from typing import Any

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.utils.denoising.protocol import TRAIN_STEPS


class Mochi(Adapter):
    """Reads ``MochiPipeline`` checkpoints."""

    text_outputs = ("embeds", "mask")
    compression_names = ("vae_temporal_scale_factor", "vae_spatial_scale_factor")
    flow = Flow(towards="data")

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, at its own time."""
        return super().network_inputs(noisy, TRAIN_STEPS - timesteps, text)


ADAPTER = Mochi
