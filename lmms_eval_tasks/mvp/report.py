"""What a report shows of MVP beside its scores: published figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lmms_eval_tasks.api import PAIR_ACCURACY, SINGLE_ACCURACY, Human
from lmms_eval_tasks.api.page import ReferencedMetric, published_models
from lmms_eval_tasks.mvp.card import CARD, SUBSETS

FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside the paper's Table 4, of a subset's task that subset's, and the leaderboard's figures."""
    split = "mini" if task.startswith("mvp_mini") else "full"
    category = next((name for name in SUBSETS if task.endswith(f"_{name}")), "macro_avg")
    table = partial(published_models, FOLDER, source="MVP paper Table 4", category=category)
    people = tuple(
        Human("pair_accuracy", split, human.value, human.source, CARD.human[0].caveat)
        for human in table(split="human subset")
    )
    models = table(metric="pair_accuracy", split=split, setting="video")
    models += published_models(FOLDER, source="leaderboard", metric="pair_accuracy", split=split, category=category)
    return (
        ReferencedMetric(PAIR_ACCURACY, CARD.chance["pair_accuracy"], people, models),
        ReferencedMetric(SINGLE_ACCURACY, CARD.chance["single_accuracy"]),
    )
