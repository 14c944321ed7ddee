"""Scores of options with their evidence: answers, evidence, both together, and what was lost to format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Record

MEASURES = ("temporal_recall", "tiou_tp_only", "im_tiou", "st_recall", "viou_tp_only", "im_viou")
"""The measures of a grounding that are shares, and scores."""
TITLES = {"im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
LOWER_IS_BETTER = ("spurious", "false_positives")


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


EVIDENCE_SCORES = {
    "accuracy": replace(_metric("accuracy", _accuracy), errors="clustered"),
    "faithful": _metric("faithful", partial(_supported, "supported", True)),
    "spurious": _metric("spurious", partial(_supported, "supported", False)),
    "faithful_strict": _metric("faithful_strict", partial(_supported, "supported_strict", True)),
    **{name: _metric(name, partial(_grounded, name, 100.0)) for name in MEASURES},
    "false_positives": replace(
        _metric("false_positives", partial(_grounded, "false_positives", 1.0)), unit="", value_bounds=None
    ),
}
"""CaST-Bench's scores of answers and their evidence by name: ``accuracy``, ``faithful``, ``spurious`` and
``faithful_strict`` of the answer, then the measures of the evidence, from ``temporal_recall`` to ``im_viou``."""

EVIDENCE_FORMAT = (
    *(_metric(f"{rule}_rate", partial(_formed, rule)) for rule in ("json_valid", "schema_valid", "recoverable")),
    _metric("accuracy_diagnostic", _diagnostic_accuracy),
    Metric(
        "grounding_unscored_rate",
        "grounding unscored",
        lambda record: 100.0 * (record.fields["grounding"] is None),
        errors="plain",
        higher_is_better=False,
    ),
)
"""What was lost to the form of answers: percent of valid ones, and of those whose evidence cannot be graded."""
