"""The scores of Worlds: those of the papers whose questions its tasks ask, and each by what makes a scene hard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import COMMON_METRICS, PAIR_ACCURACY, PAIRS_SCORED, SINGLE_ACCURACY, Metric, Record
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, SAYS_POSSIBLE, VERDICT_ACCURACY, YES_RATE
from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EVIDENCE_SCORES
from lmms_eval_tasks.worlds.card import ARROWS, ASPECTS, DEPTHS, FAMILIES, LEVELS, PRINCIPLES


def _is(column: str, value: str, record: Record) -> bool:
    return record.stratum[column] == value


def _named(metric: Metric, column: str, values: tuple[str, ...]) -> list[Metric]:
    """A score for each value of a column whose values do not say what they are of."""
    plain = replace(metric, errors="none")
    return [plain.within(f"{column}_{value}", partial(_is, column, value)) for value in values]


def _by(metric: Metric, column: str, values: tuple[str, ...]) -> tuple[Metric, ...]:
    # Standard errors are printed of the whole alone.
    return replace(metric, errors="none").by(column, values)


def _by_scene(metric: Metric) -> list[Metric]:
    return [*_by(metric, "family", FAMILIES), *_named(metric, "depth", DEPTHS)]


ACCURACY, FAITHFUL, IM_VIOU = (EVIDENCE_SCORES[name] for name in ("accuracy", "faithful", "im_viou"))

PERCEPTION = (
    SINGLE_ACCURACY,
    *_by(SINGLE_ACCURACY, "aspect", ASPECTS["perception"]),
    *_by_scene(SINGLE_ACCURACY),
    *COMMON_METRICS,
)
PAIRED = (
    PAIR_ACCURACY,
    SINGLE_ACCURACY,
    *_by(PAIR_ACCURACY, "aspect", ASPECTS["paired"]),
    *_by_scene(PAIR_ACCURACY),
    *_by_scene(SINGLE_ACCURACY),
    PAIRS_SCORED,
    *COMMON_METRICS,
)
MINIMAL = (
    PAIR_ACCURACY,
    SINGLE_ACCURACY,
    *_named(PAIR_ACCURACY, "start", ("same", "other")),
    *_named(SINGLE_ACCURACY, "start", ("same", "other")),
    *_by_scene(PAIR_ACCURACY),
    *_by_scene(SINGLE_ACCURACY),
    PAIRS_SCORED,
    *COMMON_METRICS,
)
COUNTERFACTUAL = (
    VERDICT_ACCURACY,
    BALANCED_ACCURACY,
    PAIR_ACCURACY,
    YES_RATE,
    # The same as the verdicts', by the name that the tasks of the group share.
    SINGLE_ACCURACY,
    *_by(VERDICT_ACCURACY, "level", LEVELS),
    *_by(VERDICT_ACCURACY, "marked", ("marked", "plain")),
    *_by_scene(SINGLE_ACCURACY),
    PAIRS_SCORED,
    *COMMON_METRICS,
)
EVIDENCE = (
    *EVIDENCE_SCORES.values(),
    # The same as `accuracy`, by the name that the tasks of the group share.
    SINGLE_ACCURACY,
    *_by_scene(SINGLE_ACCURACY),
    *_by_scene(FAITHFUL),
    *EVIDENCE_FORMAT,
    *COMMON_METRICS,
)
POSSIBLE = (
    SINGLE_ACCURACY,
    PAIR_ACCURACY,
    SAYS_POSSIBLE,
    *_by(SINGLE_ACCURACY, "principle", PRINCIPLES),
    *_by(PAIR_ACCURACY, "principle", PRINCIPLES),
    *_by_scene(SINGLE_ACCURACY),
    PAIRS_SCORED,
    *COMMON_METRICS,
)
REVERSAL = (
    PAIR_ACCURACY,
    SINGLE_ACCURACY,
    *_named(PAIR_ACCURACY, "arrow", ARROWS),
    *_named(SINGLE_ACCURACY, "arrow", ARROWS),
    *_by_scene(SINGLE_ACCURACY),
    PAIRS_SCORED,
    *COMMON_METRICS,
)
