"""CausalVQA's scores: pairs of versions, single versions, and both by question type and difficulty."""

from __future__ import annotations

from dataclasses import replace

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Metric,
    Record,
)
from lmms_eval_tasks.causalvqa.card import DIFFICULTIES, TYPES


def _reasons(record: Record) -> bool:
    return record.stratum["type"] != "descriptive"


def _stratum(record: Record) -> str:
    return f"{record.stratum['type']}_{record.stratum['difficulty']}"


def _broken_down(metric: Metric) -> list[Metric]:
    return [
        metric.within("reasoning", _reasons),
        *metric.by("type", TYPES),
        *metric.by("difficulty", DIFFICULTIES),
    ]


PAIR_ACCURACY_STRATA_MEAN = replace(
    PAIR_ACCURACY, name="pair_accuracy_strata_mean", title="mean over strata", stratum=_stratum
)
"""Unweighted mean over the 15 strata of type and difficulty, as the official task file computes it."""

METRICS = (
    PAIR_ACCURACY,
    SINGLE_ACCURACY,
    PAIR_ACCURACY_STRATA_MEAN,
    *_broken_down(PAIR_ACCURACY),
    # Standard errors are printed of the whole alone.
    *_broken_down(replace(SINGLE_ACCURACY, errors=PAIR_ACCURACY.errors)),
    *OFFICIAL_ACCURACIES,
    PAIRS_SCORED,
    *COMMON_METRICS,
)
