"""MVP's scores: minimal pairs, single clips, and pairs by source of videos."""

from __future__ import annotations

from lmms_eval_tasks.api import COMMON_METRICS, OFFICIAL_ACCURACIES, PAIR_ACCURACY, PAIRS_SCORED, SINGLE_ACCURACY
from lmms_eval_tasks.mvp.card import SOURCES

METRICS = (
    PAIR_ACCURACY,
    SINGLE_ACCURACY,
    *PAIR_ACCURACY.by("source", SOURCES),
    *OFFICIAL_ACCURACIES,
    PAIRS_SCORED,
    *COMMON_METRICS,
)
