"""Report of IntPhys 2 beside its scores: published figures."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_tasks.api import SINGLE_ACCURACY
from lmms_eval_tasks.api.page import ReferencedMetric, published_models
from lmms_eval_tasks.intphys2.card import CARD
from lmms_eval_tasks.intphys2.metrics import PAIRS, SCENES

HELD_OUT_ALONE = "Published scores of people and models are of the held-out clips."
SECOND_HAND = "Published scores are second-hand: a third party's page lists them from the leaderboard."
FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them; published scores are of the held-out clips, and of single ones."""
    single, pair, scene = (CARD.chance[metric] for metric in ("single_accuracy", "pair_accuracy", "scene_accuracy"))
    if task.startswith("intphys2_heldout"):
        models = published_models(
            FOLDER, source="leaderboard", without=("Human",), metric="single_accuracy", split="heldout"
        )
        return (ReferencedMetric(SINGLE_ACCURACY, single, CARD.human, models, note=SECOND_HAND),)
    return (
        ReferencedMetric(SINGLE_ACCURACY, single, note=HELD_OUT_ALONE),
        ReferencedMetric(SCENES, scene),
        ReferencedMetric(PAIRS, pair),
    )
