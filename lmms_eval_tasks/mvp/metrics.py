"""MVP's scores: minimal pairs, single clips, and pairs by source of videos."""

from __future__ import annotations

from functools import partial

from lmms_eval_tasks.mvp.card import SOURCES
from lmms_eval_tasks.utils.scoring import pairs, rates
from lmms_eval_tasks.utils.scoring.records import Record


def _is_from(source: str, record: Record) -> bool:
    return record.stratum["source"] == source


METRICS = (
    pairs.PAIR_ACCURACY,
    pairs.SINGLE_ACCURACY,
    *(pairs.PAIR_ACCURACY.within(source, partial(_is_from, source)) for source in SOURCES),
    pairs.PAIR_ACCURACY_OFFICIAL,
    pairs.SINGLE_ACCURACY_OFFICIAL,
    pairs.PAIRS_SCORED,
    *rates.COMMON,
)
