"""CaST-Bench's scores: answers, their evidence, both together, and what was lost to format; means over questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import COMMON_METRICS, Metric, Record
from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EVIDENCE_SCORES
from lmms_eval_tasks.cast_bench.card import CATEGORIES, NEAR_MISS, OPTION_KINDS
from lmms_eval_tasks.cast_bench.open_ended import DIMENSIONS

TEN = (0.0, 10.0)


ACCURACY, FAITHFUL = EVIDENCE_SCORES["accuracy"], EVIDENCE_SCORES["faithful"]
IM_TIOU, IM_VIOU = EVIDENCE_SCORES["im_tiou"], EVIDENCE_SCORES["im_viou"]


def _broken_down(metric: Metric) -> list[Metric]:
    plain = replace(metric, errors="plain")
    return [*plain.by("category", CATEGORIES), *plain.by("size", ("small", "large"))]


def _chose(kind: str, record: Record) -> float:
    """Whether an option of a kind was chosen; a near-miss of anything is a near-miss."""
    chosen = record.fields["chosen_kind"]
    return 100.0 * (chosen == kind or (kind == NEAR_MISS and str(chosen).startswith(NEAR_MISS)))


METRICS = (
    *EVIDENCE_SCORES.values(),
    *(part for metric in EVIDENCE_SCORES.values() for part in _broken_down(metric)),
    *EVIDENCE_FORMAT,
    *(
        Metric(
            f"errors_{kind.replace('-', '_')}",
            f"errors, {kind}",
            partial(_chose, kind),
            applies=lambda record: "chosen_kind" in record.fields,
            errors="plain",
            higher_is_better=None,
        )
        for kind in OPTION_KINDS
    ),
    *COMMON_METRICS,
)


def _judged(dimensions: Sequence[str], record: Record) -> float | None:
    """Mean over some dimensions, 0-10; None where it was not graded."""
    scores = record.fields["scores"]
    return None if scores is None else sum(scores[name] for name in dimensions) / len(dimensions)


def _judge_metric(name: str, title: str, dimensions: Sequence[str]) -> Metric:
    return Metric(name, title, partial(_judged, dimensions), unit="", bounds=TEN, value_bounds=TEN, errors="plain")


def _count(scored: bool, record: Record) -> int:
    return int((_judged(DIMENSIONS, record) is not None) is scored)


JUDGE_SCORE = replace(_judge_metric("judge_score", "judge 0-10", DIMENSIONS), errors="clustered")
"""Mean over the dimensions, from 0 to 10."""
JUDGE_DIMENSIONS = tuple(_judge_metric(name, name.replace("_", " "), (name,)) for name in DIMENSIONS)

OPEN_METRICS = (
    JUDGE_SCORE,
    *JUDGE_DIMENSIONS,
    *replace(JUDGE_SCORE, errors="plain").by("category", CATEGORIES),
    Metric.total("n_scored", "scored", partial(_count, True)),
    Metric.total("n_unscored", "unscored", partial(_count, False)),
    *COMMON_METRICS,
)
