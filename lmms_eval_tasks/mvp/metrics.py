"""MVP's scores: minimal pairs, single clips, and pairs by source of videos."""

from __future__ import annotations

from lmms_eval_tasks.mvp.card import SOURCES
from lmms_eval_tasks.utils.scoring import pair_scores, rates

METRICS = (
    pair_scores.PAIR_ACCURACY,
    pair_scores.SINGLE_ACCURACY,
    *pair_scores.PAIR_ACCURACY.by("source", SOURCES),
    pair_scores.PAIR_ACCURACY_OFFICIAL,
    pair_scores.SINGLE_ACCURACY_OFFICIAL,
    pair_scores.PAIRS_SCORED,
    *rates.COMMON,
)
