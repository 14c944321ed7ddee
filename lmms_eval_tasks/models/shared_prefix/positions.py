"""Positions of a prompt's tokens, as the installed library gives them or as the library of the weights' time did."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import groupby
from typing import Any

import torch

from lmms_eval_tasks.utils.core.errors import InputError

TEXT, VIDEO = 0, 2
"""Of `mm_token_type_ids`; 1 is a picture."""
REFERENCE_TYPES = frozenset({"qwen2_vl", "qwen2_5_vl"})
"""Model types whose positions were others when their weights were released."""


class Positions(str, Enum):
    LIBRARY = "library"
    """Those of the installed transformers, as lmms-eval's adapters use them."""
    REFERENCE = "reference"
    """Those of transformers 4.57, which the weights were released with."""


def check_positions(model_type: str, positions: Positions) -> None:
    if positions is Positions.REFERENCE and model_type not in REFERENCE_TYPES:
        known = ", ".join(sorted(REFERENCE_TYPES))
        raise InputError(
            f"Expected positions=library for {model_type}: positions of reference are known for {known} only."
        )


def find_positions(model: Any, inputs: Mapping[str, Any], positions: Positions) -> torch.Tensor:
    """Positions of all tokens of one prompt, for `generate` and `forward`."""
    known = {name: value for name, value in inputs.items() if not name.startswith("pixel_values")}
    holder = getattr(model, "model", None)
    before = getattr(holder, "rope_deltas", None)
    library: torch.Tensor = model._prepare_position_ids_for_generation(known["input_ids"], known)
    if holder is not None and hasattr(holder, "rope_deltas"):
        holder.rope_deltas = before
    if positions is Positions.REFERENCE and model.config.model_type in REFERENCE_TYPES:
        vision = model.config.vision_config
        return torch.cat(
            [
                library[:1],
                reference_positions(
                    known["mm_token_type_ids"][0].tolist(),
                    known.get("image_grid_thw"),
                    known.get("video_grid_thw"),
                    known.get("second_per_grid_ts"),
                    vision.spatial_merge_size,
                    getattr(vision, "tokens_per_second", None),
                )[:, None].to(library),
            ]
        )
    return library


def reference_positions(
    kinds: list[int],
    image_grids: Any,
    video_grids: Any,
    seconds_per_grid: Any,
    merge: int,
    tokens_per_second: float | None,
) -> torch.Tensor:
    """Positions as transformers 4.57.6 gives them to one prompt of Qwen2-VL or Qwen2.5-VL.

    Text goes on after the largest position of what stands before it, time included. A frame's time is the number of its
    grid, times whole seconds per grid and tokens per second where the model has those (Qwen2.5-VL).

    Args:
        kinds: Of each token: 0 text, 1 picture, 2 video.
        image_grids: (pictures, 3) of time, height and width in patches.
        video_grids: (videos, 3) of the same.
        seconds_per_grid: Of each video; None is 1.
        merge: Patches of each side of a token.
        tokens_per_second: Positions that a second takes; None for Qwen2-VL.

    Returns:
        int64 (3, tokens) of time, height and width.

    Source: ``get_rope_index`` of ``modeling_qwen2_vl.py`` and ``modeling_qwen2_5_vl.py`` of transformers 4.57.6.
    """
    grids = {kind: iter(_rows(values)) for kind, values in ((1, image_grids), (VIDEO, video_grids))}
    seconds = iter(_rows(seconds_per_grid))
    parts: list[torch.Tensor] = []
    start, place = 0, 0
    while place < len(kinds):
        kind = kinds[place]
        if kind == TEXT:
            count = next(iter(len(list(run)) for _, run in groupby(kinds[place:])))
            part = torch.arange(count).expand(3, -1)
        else:
            times, rows, columns = next(grids[kind])
            rows, columns = rows // merge, columns // merge
            count = times * rows * columns
            step = 1
            if tokens_per_second is not None:
                step = int(next(seconds, 1)) * int(tokens_per_second) if kind == VIDEO else 0
            axes = torch.meshgrid(torch.arange(times) * step, torch.arange(rows), torch.arange(columns), indexing="ij")
            part = torch.stack([axis.flatten() for axis in axes])
        parts.append(part + start)
        start = int(parts[-1].max()) + 1
        place += count
    return torch.cat(parts, dim=1)


def _rows(values: Any) -> list[Any]:
    if values is None:
        return []
    return values.tolist() if isinstance(values, torch.Tensor) else list(values)
