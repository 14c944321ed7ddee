"""Grading CaST-Bench: what is asked in one question, and the official evaluator's metrics.

The official metrics are fractions and means over questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.api import Record
from lmms_eval_tasks.api.evidence import EvidenceInstance, EvidenceQuestion, GroundingSettings

SMALL_BOX_AREA = 10_000
"""A question is about small things where its true boxes have a smaller mean area, in square pixels.

Source: ``bbox_threshold`` in CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`.
"""

GROUNDING_METRICS = {
    "temporal_recall": "qa_temporal_r1_tau",
    "tiou_tp_only": "qa_temporal_m_tiou_tponly",
    "im_tiou": "qa_temporal_m_tiou_pergt",
    "st_recall": "qa_st_r1_tau_st",
    "viou_tp_only": "qa_st_m_viou_tponly",
    "im_viou": "qa_st_m_viou_pergt",
}
"""Our name of each grounding metric, and the official one."""

ANSWER_METRICS = {
    "accuracy": "qa_accuracy",
    "faithful": "qa_faithful_answer_accuracy",
    "spurious": "qa_spurious_answer_rate",
}
"""Our name of each metric of the answer, and the official one."""


def evidence_question(
    item_id: str,
    clip: str,
    category: str,
    subtype: str,
    answer: str | None,
    truth: tuple[EvidenceInstance, ...],
    **known: Any,
) -> EvidenceQuestion:
    """One question of the release, as grading needs it."""
    size = "small" if mean_box_area(truth) < SMALL_BOX_AREA else "large"
    stratum = {"category": category, "subtype": subtype, "size": size}
    return EvidenceQuestion(item_id, clip, stratum, answer, truth, **known)


def mean_box_area(instances: Sequence[EvidenceInstance]) -> float:
    """Mean area of all boxes, in square pixels; 0 where there is none.

    Source: ``compute_avg_gt_bbox_area`` of CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`, by which it tells
    questions about small things from those about large ones.
    """
    boxes = (box for instance in instances for evidence in instance.evidences for box in evidence.boxes)
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes]
    return sum(areas) / len(areas) if areas else 0.0


def official_overall(
    records: Sequence[Record], settings: GroundingSettings, predictions: str, missing: int = 0
) -> dict[str, Any]:
    """A run in the shape of the official ``results_overall.json``: fractions, official names.

    Only questions whose answer and grounding are both scored are in it; ``n_qas`` says how many they are.

    Args:
        records: One per question.
        settings: With which they were scored.
        predictions: Path of the predictions, for the configuration.
        missing: Questions without a prediction.
    """
    rows = list(filter(None, map(official_metrics, records)))
    return {
        "overall_per_qa": {
            "n_qas": len(rows),
            **{
                name: sum(row[name] for row in rows) / max(len(rows), 1)
                for name in (*GROUNDING_METRICS.values(), *ANSWER_METRICS.values())
            },
        },
        "missing_pred_files": missing,
        "config": {
            "eps_overlap": settings.eps_overlap,
            "tau_t": settings.tau_t,
            "tau_st": settings.tau_st,
            "use_coverage_aware_score": settings.coverage_aware,
            "pred_path": predictions,
        },
    }


def official_metrics(record: Record) -> dict[str, float] | None:
    """One question's official metrics, fractions; None where its answer or its grounding is unscored."""
    grounding = record.fields["grounding"]
    if record.correct is None or grounding is None:
        return None
    return {
        **{official: grounding[name] for name, official in GROUNDING_METRICS.items()},
        "qa_accuracy": float(record.correct),
        "qa_faithful_answer_accuracy": float(record.correct and grounding["supported"]),
        "qa_spurious_answer_rate": float(record.correct and not grounding["supported"]),
    }
