"""CaST-Bench's scores: answers, their evidence, both together, and what was lost to format; means over questions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lmms_eval_tasks.cast_bench.card import CATEGORIES
from lmms_eval_tasks.cast_bench.grading import ANSWER_METRICS, GROUNDING_METRICS, question_score
from lmms_eval_tasks.cast_bench.open_ended import DIMENSIONS
from lmms_eval_tasks.cast_bench.open_ended import question_scores as judge_scores
from lmms_eval_tasks.utils.scoring import rates
from lmms_eval_tasks.utils.scoring.metrics import Errors, Kind, Metric
from lmms_eval_tasks.utils.scoring.records import Record

OPTION_KINDS = ("text-based", "video-based", "near-miss")
TITLES = {"im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
LOWER_IS_BETTER = ("spurious", "false_positives")
TEN = (0.0, 10.0)


def _metric(name: str) -> Metric:
    counted = name == "false_positives"
    return Metric(
        name,
        TITLES.get(name, name.replace("_", " ")),
        partial(question_score, name),
        errors=Errors.CLUSTERED if name == "accuracy" else Errors.PLAIN,
        higher_is_better=name not in LOWER_IS_BETTER,
        unit="" if counted else "%",
        value_bounds=None if counted else (0.0, 100.0),
    )


ANSWERS = {name: _metric(name) for name in (*ANSWER_METRICS, "faithful_strict")}
GROUNDING = {name: _metric(name) for name in (*GROUNDING_METRICS, "false_positives")}
ACCURACY, FAITHFUL = ANSWERS["accuracy"], ANSWERS["faithful"]
IM_TIOU, IM_VIOU = GROUNDING["im_tiou"], GROUNDING["im_viou"]


def _is(column: str, value: str, record: Record) -> bool:
    return record.stratum[column] == value


def _broken_down(metric: Metric) -> list[Metric]:
    plain = replace(metric, errors=Errors.PLAIN)
    parts = [("category", category) for category in CATEGORIES] + [("size", size) for size in ("small", "large")]
    return [plain.within(value, partial(_is, column, value)) for column, value in parts]


def _chose(kind: str, record: Record) -> float:
    return 100.0 * bool(record.fields["chosen_kind"] == kind)


def _names_kind(record: Record) -> bool:
    return "chosen_kind" in record.fields


METRICS = (
    *ANSWERS.values(),
    *GROUNDING.values(),
    *(part for metric in (*ANSWERS.values(), *GROUNDING.values()) for part in _broken_down(metric)),
    *(_metric(name) for name in ("json_valid_rate", "schema_valid_rate", "recoverable_rate", "accuracy_diagnostic")),
    *(
        Metric(
            f"errors_{kind.replace('-', '_')}",
            f"errors, {kind}",
            partial(_chose, kind),
            applies=_names_kind,
            errors=Errors.PLAIN,
            higher_is_better=None,
        )
        for kind in OPTION_KINDS
    ),
    Metric(
        "grounding_unscored_rate",
        "grounding unscored",
        lambda record: 100.0 * (record.fields["grounding"] is None),
        errors=Errors.PLAIN,
        higher_is_better=False,
    ),
    *rates.COMMON,
)


def _judged(name: str, record: Record) -> float | None:
    return judge_scores(record)[name]


def _judge_metric(name: str, title: str, errors: Errors = Errors.PLAIN) -> Metric:
    return Metric(name, title, partial(_judged, name), unit="", bounds=TEN, value_bounds=TEN, errors=errors)


def _count(scored: bool, record: Record) -> int:
    return int((judge_scores(record)["judge_score"] is not None) is scored)


JUDGE_SCORE = _judge_metric("judge_score", "judge 0-10", Errors.CLUSTERED)
"""Mean over the dimensions, from 0 to 10."""
JUDGE_DIMENSIONS = tuple(_judge_metric(name, name.replace("_", " ")) for name in DIMENSIONS)

OPEN_METRICS = (
    JUDGE_SCORE,
    *JUDGE_DIMENSIONS,
    *(
        replace(JUDGE_SCORE, errors=Errors.PLAIN).within(category, partial(_is, "category", category))
        for category in CATEGORIES
    ),
    *(
        Metric(
            name,
            title,
            partial(_count, scored),
            kind=Kind.TOTAL,
            unit="",
            value_bounds=None,
            errors=Errors.PLAIN,
            higher_is_better=None,
        )
        for name, title, scored in (("n_scored", "scored", True), ("n_unscored", "unscored", False))
    ),
    *rates.COMMON,
)
