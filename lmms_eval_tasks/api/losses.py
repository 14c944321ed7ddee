"""Losses of a diffusion model in place of answers."""

from __future__ import annotations

from lmms_eval_tasks.utils.denoising.protocol import combine_losses
from lmms_eval_tasks.utils.denoising.response import DenoisingResponse, read_denoising

__all__ = [
    "DenoisingResponse",
    "combine_losses",
    "read_denoising",
]
