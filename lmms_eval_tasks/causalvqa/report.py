"""What a report shows of CausalVQA beside its scores: published figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lmms_eval_tasks.api import PAIR_ACCURACY, SINGLE_ACCURACY
from lmms_eval_tasks.api.page import ReferencedMetric, published_models
from lmms_eval_tasks.causalvqa.card import CARD

OTHER_QUESTIONS = "Published scores of people and models are of the test split; the debug split has other questions."
FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: paper, Tables 6 (pairs) and 12 (single questions); and the leaderboard.

    People answered one version of each question, so their score stands beside single accuracy alone.
    """
    pair, single = (CARD.chance[metric] for metric in ("pair_accuracy", "single_accuracy"))
    if task.startswith("causalvqa_debug"):
        return (
            ReferencedMetric(PAIR_ACCURACY, pair, note=OTHER_QUESTIONS),
            ReferencedMetric(SINGLE_ACCURACY, single, note=OTHER_QUESTIONS),
        )
    models = partial(published_models, FOLDER, without=("Human",), category="all", difficulty="all")
    return (
        ReferencedMetric(
            PAIR_ACCURACY,
            pair,
            published=(
                *models(source="CausalVQA paper Table 6", metric="paired_accuracy"),
                *models(source="leaderboard", metric="paired_accuracy"),
            ),
            note="No paired score of people is published: nobody answered both versions of a question.",
        ),
        ReferencedMetric(
            SINGLE_ACCURACY,
            single,
            CARD.human,
            models(source="CausalVQA paper Table 12", metric="unpaired_accuracy"),
        ),
    )
