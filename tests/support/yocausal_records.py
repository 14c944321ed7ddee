"""Responses and records of the task `yocausal` whose winners and labels are known."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, WindowRecord
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason


def pair_record(
    item_id: str, subset: str, winner: str | None, causal: object = None, discriminable: object = None
) -> Record:
    """The record of a pair; without a winner it is unscored."""
    outcome = Outcome.UNSCORED if winner is None else Outcome.CORRECT if winner == "forward" else Outcome.WRONG
    return Record(
        item_id=item_id,
        group_id=item_id,
        stratum={"subset": subset},
        expected="forward",
        answered=winner,
        outcome=outcome,
        unscored_reason=UnscoredReason.SHORT_CLIP if winner is None else None,
        fields={"vlm_causality": causal, "human_discriminable": discriminable, "motion_symmetric": None},
    )


def denoised(item_id: str, forward: float, backward: float, **more: Any) -> str:
    """What a model answers whose losses of a pair's two clips are these at both of its timesteps."""
    return DenoisingResponse(
        item_id=item_id,
        loss=Directed(forward=forward, backward=backward),
        losses=Directed(forward=[[forward, forward]], backward=[[backward, backward]]),
        timesteps=[100.0, 200.5],
        windows=[WindowRecord(start=0, stop=5, borrowed=0, skipped=0, latents=2)],
        settings={"model": "Toy", "combine": "latents"},
        settings_digest="0" * 16,
        **more,
    ).to_json()
