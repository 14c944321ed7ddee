"""Engines on tiny random models of every family, built once and loaded through the real path."""

from pathlib import Path
from typing import Any

import torch
from tiny_models import BUILDERS, write_tiny_model

from lmms_eval_tasks.models.video_diffusion.denoising import Engine
from lmms_eval_tasks.models.video_diffusion.latents import Placement
from lmms_eval_tasks.models.video_diffusion.model import load_adapter
from lmms_eval_tasks.models.video_diffusion.settings import check_geometry, read_settings


def tiny_checkpoint(root: Path, family: str) -> Path:
    """A family's tiny checkpoint below a folder, written where it is not there yet."""
    folder = root / family
    return folder if (folder / "model_index.json").is_file() else write_tiny_model(family, folder)


def tiny_engine(root: Path, family: str, batch: int | None = 20, offload: str = "none", **choices: Any) -> Engine:
    """An engine on the CPU, in float32 and at the tiny model's own sizes unless chosen otherwise."""
    pretrained = str(tiny_checkpoint(root, family))
    settings = read_settings(family, {"pretrained": pretrained, "dtype": "float32", **BUILDERS[family][1], **choices})
    adapter = load_adapter(settings)
    settings = check_geometry(settings, adapter.temporal_compression, adapter.size_multiple)
    placement = Placement(torch.device("cpu"), offload)
    return Engine(adapter, settings, placement, batch)
