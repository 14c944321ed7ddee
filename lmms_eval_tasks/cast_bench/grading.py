"""Grading CaST-Bench: the record of one question, and the official evaluator's metrics.

The official metrics are fractions and means over questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.api import Outcome, Record, UnscoredReason
from lmms_eval_tasks.api.evidence import (
    BoxConvention,
    EvidenceInstance,
    GroundingSettings,
    ground_evidence,
    read_evidence_answer,
)

SMALL_BOX_AREA = 10_000
"""A question is about small things where its true boxes have a smaller mean area, in square pixels.

Source: ``bbox_threshold`` in CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`.
"""

OFFICIAL_RUNS = GroundingSettings()
"""How the official runs match evidence."""

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


@dataclass(frozen=True)
class Question:
    """One question of the release, as scoring needs it.

    Attributes:
        item_id: Stable id.
        clip: Group of the questions about one clip.
        category: Category of the taxonomy.
        subtype: Its subtype.
        answer: Upper-case letter, None where it is withheld.
        truth: True instances, boxes in pixels.
        letters: Letters of its options.
        frame: Width and height of the clip, None where unknown.
        seen: Width and height of the frame that the model was shown, for ``xyxy_resized``; None where unknown.
        asked: Whether the model was shown the clip.
    """

    item_id: str
    clip: str
    category: str
    subtype: str
    answer: str | None
    truth: tuple[EvidenceInstance, ...]
    letters: str = "ABCDEF"
    frame: tuple[int, int] | None = None
    seen: tuple[int, int] | None = None
    asked: bool = True


def score_question(
    question: Question,
    response: object,
    settings: GroundingSettings = OFFICIAL_RUNS,
    convention: BoxConvention = BoxConvention.XYXY_PX,
) -> Record:
    """Grade one response.

    The answer and the grounding are those of the official reading. The grounding is unscored, and the answer still
    scored, where there are boxes that need the size of a frame that is not known.

    Args:
        question: What was asked, with the truth.
        response: What the model returned; anything but text is read as an empty text.
        settings: How instances are matched.
        convention: How the model writes boxes.

    Returns:
        The record. Its fields: ``grounding_reason`` (why unscored, None where scored), ``grounding`` (measures in 0-1
        and counts, None where unscored), ``boxes`` (the convention, and where it matters the size of the frame that the
        model was shown) and ``format``.
    """
    prediction = read_evidence_answer(response if isinstance(response, str) else "")
    diagnosis = prediction.diagnose(question.letters)
    grounding_reason = _grounding_reason(question, prediction.instances, convention)
    grounding: dict[str, Any] | None = None
    if grounding_reason is None:
        predicted = [one.timeline(convention, question.frame, question.seen) for one in prediction.instances]
        measures = ground_evidence(predicted, [instance.timeline() for instance in question.truth], settings)
        grounding = {**vars(measures), "pairs": [vars(pair) for pair in measures.pairs]}
    reason = None
    if not question.asked:
        reason = UnscoredReason.NO_CLIP
    elif not question.answer:
        reason = UnscoredReason.NO_KEY
    if reason:
        outcome = Outcome.UNSCORED
    elif prediction.answer is None:
        outcome = Outcome.UNPARSED
    else:
        outcome = Outcome.CORRECT if prediction.answer == question.answer else Outcome.WRONG
    return Record(
        item_id=question.item_id,
        group_id=question.clip,
        stratum={
            "category": question.category,
            "subtype": question.subtype,
            "size": "small" if mean_box_area(question.truth) < SMALL_BOX_AREA else "large",
        },
        expected=question.answer,
        answered=prediction.answer,
        outcome=outcome,
        unscored_reason=reason,
        detail=prediction.unread if outcome is Outcome.UNPARSED else "",
        fields={
            "grounding_reason": grounding_reason,
            "grounding": grounding,
            "boxes": {"convention": convention.value, "seen": list(question.seen) if question.seen else None},
            "format": {
                "json_valid": diagnosis.json_valid,
                "schema_valid": diagnosis.schema_valid,
                "recoverable": diagnosis.answer is not None,
                "answered": diagnosis.answer,
            },
        },
    )


def mean_box_area(instances: Sequence[EvidenceInstance]) -> float:
    """Mean area of all boxes, in square pixels; 0 where there is none.

    Source: ``compute_avg_gt_bbox_area`` of CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`, by which it tells
    questions about small things from those about large ones.
    """
    boxes = (box for instance in instances for evidence in instance.evidences for box in evidence.boxes)
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes]
    return sum(areas) / len(areas) if areas else 0.0


def _grounding_reason(
    question: Question, predicted: Sequence[EvidenceInstance], convention: BoxConvention
) -> str | None:
    """Why the grounding is unscored, None where it is scored."""
    if not question.asked:
        return UnscoredReason.NO_CLIP.value
    has_boxes = any(evidence.boxes for instance in predicted for evidence in instance.evidences)
    if convention.can_convert(question.frame, question.seen) or not has_boxes:
        return None
    size = "frame" if question.frame is None else "frame that the model was shown"
    return f"{convention.value} boxes, size of the {size} unknown"


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
