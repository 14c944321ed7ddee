"""MVP's scores: minimal pairs, single clips, and pairs by source of videos."""

from __future__ import annotations

from lmms_eval_tasks.mvp.card import SOURCES
from lmms_eval_tasks.utils.scoring import pairs, rates

METRICS = (
    pairs.PAIR_ACCURACY,
    pairs.SINGLE_ACCURACY,
    *pairs.PAIR_ACCURACY.by("source", SOURCES),
    pairs.PAIR_ACCURACY_OFFICIAL,
    pairs.SINGLE_ACCURACY_OFFICIAL,
    pairs.PAIRS_SCORED,
    *rates.COMMON,
)
