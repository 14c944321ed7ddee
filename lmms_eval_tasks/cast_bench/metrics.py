"""CaST-Bench's scores: answers, their evidence, both together, and what was lost to format; means over questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import COMMON_METRICS, Metric, Record
from lmms_eval_tasks.cast_bench.card import CATEGORIES, NEAR_MISS, OPTION_KINDS
from lmms_eval_tasks.cast_bench.grading import GROUNDING_METRICS
from lmms_eval_tasks.cast_bench.open_ended import DIMENSIONS

TITLES = {"im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
LOWER_IS_BETTER = ("spurious", "false_positives")
TEN = (0.0, 10.0)


def _accuracy(record: Record) -> float | None:
    return None if record.correct is None else 100.0 * record.correct


def _diagnostic_accuracy(record: Record) -> float | None:
    return None if record.correct is None else 100.0 * (record.fields["format"]["answered"] == record.expected)


def _supported(measure: str, wanted: bool, record: Record) -> float | None:
    """Whether the answer is right, and its evidence supports it or does not; unscored where either is."""
    grounding = record.fields["grounding"]
    if record.correct is None or grounding is None:
        return None
    return 100.0 * (record.correct and grounding[measure] is wanted)


def _grounded(measure: str, factor: float, record: Record) -> float | None:
    grounding = record.fields["grounding"]
    return factor * grounding[measure] if grounding else None


def _formed(rule: str, record: Record) -> float | None:
    return 100.0 * record.fields["format"][rule] if record.asked else None


def _metric(name: str, value: Callable[[Record], float | None]) -> Metric:
    title = TITLES.get(name, name.replace("_", " "))
    return Metric(name, title, value, errors="plain", higher_is_better=name not in LOWER_IS_BETTER)


ANSWERS = {
    "accuracy": replace(_metric("accuracy", _accuracy), errors="clustered"),
    "faithful": _metric("faithful", partial(_supported, "supported", True)),
    "spurious": _metric("spurious", partial(_supported, "supported", False)),
    "faithful_strict": _metric("faithful_strict", partial(_supported, "supported_strict", True)),
}
GROUNDING = {
    **{name: _metric(name, partial(_grounded, name, 100.0)) for name in GROUNDING_METRICS},
    "false_positives": replace(
        _metric("false_positives", partial(_grounded, "false_positives", 1.0)), unit="", value_bounds=None
    ),
}
FORMAT = (
    *(_metric(f"{rule}_rate", partial(_formed, rule)) for rule in ("json_valid", "schema_valid", "recoverable")),
    _metric("accuracy_diagnostic", _diagnostic_accuracy),
)
ACCURACY, FAITHFUL = ANSWERS["accuracy"], ANSWERS["faithful"]
IM_TIOU, IM_VIOU = GROUNDING["im_tiou"], GROUNDING["im_viou"]


def _broken_down(metric: Metric) -> list[Metric]:
    plain = replace(metric, errors="plain")
    return [*plain.by("category", CATEGORIES), *plain.by("size", ("small", "large"))]


def _chose(kind: str, record: Record) -> float:
    """Whether an option of a kind was chosen; a near-miss of anything is a near-miss."""
    chosen = record.fields["chosen_kind"]
    return 100.0 * (chosen == kind or (kind == NEAR_MISS and str(chosen).startswith(NEAR_MISS)))


METRICS = (
    *ANSWERS.values(),
    *GROUNDING.values(),
    *(part for metric in (*ANSWERS.values(), *GROUNDING.values()) for part in _broken_down(metric)),
    *FORMAT,
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
    Metric(
        "grounding_unscored_rate",
        "grounding unscored",
        lambda record: 100.0 * (record.fields["grounding"] is None),
        errors="plain",
        higher_is_better=False,
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
