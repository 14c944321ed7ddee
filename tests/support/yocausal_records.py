"""Records of the task `yocausal` whose winners and labels are known."""

from __future__ import annotations

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
