"""Losses as answers, in place of text."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.losses import (
    DenoisingResponse,
    combine_by_timestep,
    guess_losses,
    lowest_clip,
    read_clip_losses,
    read_denoising,
)
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm

__all__ = [
    "AnswerForm",
    "DenoisingResponse",
    "combine_by_timestep",
    "guess_losses",
    "lowest_clip",
    "read_clip_losses",
    "read_denoising",
]
