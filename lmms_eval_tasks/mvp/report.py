"""What a report shows of MVP beside its scores: published figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.utils.benchmark.card import Human
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_models
from lmms_eval_tasks.utils.scoring import pair_scores

FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: paper, Table 4; of a subset's task that subset's."""
    split = "mini" if task.startswith("mvp_mini") else "full"
    category = next((name for name in SUBSETS if task.endswith(f"_{name}")), "macro_avg")
    table = partial(published_models, FOLDER, source="MVP paper Table 4", category=category)
    people = tuple(
        Human("pair_accuracy", split, human.value, human.source, CARD.human[0].caveat)
        for human in table(split="human subset")
    )
    models = table(metric="pair_accuracy", split=split, setting="video")
    return (
        ReferencedMetric(pair_scores.PAIR_ACCURACY, CARD.chance["pair_accuracy"], people, models),
        ReferencedMetric(pair_scores.SINGLE_ACCURACY, CARD.chance["single_accuracy"]),
    )
