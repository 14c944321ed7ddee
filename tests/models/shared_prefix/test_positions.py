"""Positions of reference against those that transformers 4.57.6 gives, and the library's as `generate` finds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_vlms import FAMILIES

from lmms_eval_tasks.models.shared_prefix.positions import Positions, find_positions, reference_positions

# ``get_rope_index`` of transformers 4.57.6, taken out of ``modeling_qwen2_5_vl.py`` and ``modeling_qwen2_vl.py`` and
# run on prompts of text, pictures and videos: the last position and the sum of place times position of each axis.
CASES = json.loads(Path(__file__).with_name("positions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES)
def test_positions_of_reference_are_those_of_the_release(case: dict[str, Any]) -> None:
    kinds = [kind for kind, count in case["kinds"] for _ in range(count)]
    positions = reference_positions(
        kinds, case["image_grids"], case["video_grids"], case["seconds"] or None, 2, case["tokens_per_second"]
    )
    assert positions.shape == (3, len(kinds))
    assert positions[:, -1].tolist() == case["last"]
    assert (positions * torch.arange(1, len(kinds) + 1)).sum(dim=1).tolist() == case["sums"]


def prompt(model: Any, frames: int, seconds: float) -> dict[str, Any]:
    config = model.config
    grid = torch.tensor([[frames // 2, 12, 16]])
    shown = int(grid.prod()) // 4
    ids = [5, 6, 7, config.vision_start_token_id, *[config.video_token_id] * shown, config.vision_end_token_id, 8, 9]
    tokens = torch.tensor([ids])
    return {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "mm_token_type_ids": torch.where(tokens == config.video_token_id, 2, 0),
        "video_grid_thw": grid,
        "second_per_grid_ts": torch.tensor([2 * seconds / frames]),
    }


@pytest.mark.parametrize(("frames", "seconds", "same"), [(4, 1, True), (64, 60, False)])
def test_a_long_video_pushes_text_further_in_the_release_than_in_the_library(
    frames: int, seconds: float, same: bool
) -> None:
    model, _ = FAMILIES["qwen2_5_vl"]()
    inputs = prompt(model, frames, seconds)
    library = find_positions(model, inputs, Positions.LIBRARY)
    reference = find_positions(model, inputs, Positions.REFERENCE)
    assert library.shape == reference.shape == (4, 1, inputs["input_ids"].shape[1])
    assert torch.equal(library[0], reference[0])
    assert (int(library[1:, 0, -1].max()) == int(reference[1:, 0, -1].max())) is same
    assert int(reference[1:, 0, -1].max()) >= int(library[1:, 0, -1].max())
    # What the model remembers of positions stays.
    model.model.rope_deltas = torch.tensor([[17]])
    find_positions(model, inputs, Positions.LIBRARY)
    assert model.model.rope_deltas.tolist() == [[17]]
