"""Options with their evidence in time and space: the record of one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.utils.evidence.boxes import BoxConvention
from lmms_eval_tasks.utils.evidence.grounding import DEFAULTS, GroundingSettings, ground_evidence
from lmms_eval_tasks.utils.evidence.instances import EvidenceInstance
from lmms_eval_tasks.utils.evidence.reader import read_evidence_answer
from lmms_eval_tasks.utils.scoring.records import Outcome, Record, UnscoredReason


@dataclass(frozen=True)
class EvidenceQuestion:
    """A question that asks for an option and its evidence, as grading needs it.

    Attributes:
        item_id: Stable id.
        group_id: The questions that belong together, such as those about one clip.
        stratum: Names and values by which scores are broken down.
        answer: Upper-case letter, None where it is withheld.
        truth: True instances, boxes in pixels.
        letters: Letters of its options.
        frame: Width and height of the clip, None where unknown.
        seen: Width and height of the frame that the model was shown, for ``xyxy_resized``; None where unknown.
        asked: Whether the model was shown the clip.
    """

    item_id: str
    group_id: str
    stratum: Mapping[str, str]
    answer: str | None
    truth: tuple[EvidenceInstance, ...]
    letters: str = "ABCDEF"
    frame: tuple[int, int] | None = None
    seen: tuple[int, int] | None = None
    asked: bool = True


def grade_evidence(
    question: EvidenceQuestion,
    response: object,
    settings: GroundingSettings = DEFAULTS,
    convention: BoxConvention = BoxConvention.XYXY_PX,
) -> Record:
    """Grade one response.

    The answer and the grounding are those that CaST-Bench's official evaluator reads. The grounding is unscored, and
    the answer still scored, where there are boxes that need the size of a frame that is not known.

    Args:
        question: What was asked, with the truth.
        response: What the model returned; anything but text is read as an empty text.
        settings: How instances are matched.
        convention: How the model writes boxes.

    Returns:
        The record. Its fields: ``grounding_reason`` (why unscored, None where scored), ``grounding`` (measures in 0-1
        and counts, None where unscored), ``matching`` (the rule), ``boxes`` (the convention, and where it matters the
        size of the frame that the model was shown) and ``format``.
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
        group_id=question.group_id,
        stratum=dict(question.stratum),
        expected=question.answer,
        answered=prediction.answer,
        outcome=outcome,
        unscored_reason=reason,
        detail=prediction.unread if outcome is Outcome.UNPARSED else "",
        fields={
            "grounding_reason": grounding_reason,
            "grounding": grounding,
            "matching": settings.rule,
            "boxes": {"convention": convention.value, "seen": list(question.seen) if question.seen else None},
            "format": {
                "json_valid": diagnosis.json_valid,
                "schema_valid": diagnosis.schema_valid,
                "recoverable": diagnosis.answer is not None,
                "answered": diagnosis.answer,
            },
        },
    )


def _grounding_reason(
    question: EvidenceQuestion, predicted: Sequence[EvidenceInstance], convention: BoxConvention
) -> str | None:
    """Why the grounding is unscored, None where it is scored."""
    if not question.asked:
        return UnscoredReason.NO_CLIP.value
    has_boxes = any(evidence.boxes for instance in predicted for evidence in instance.evidences)
    if convention.can_convert(question.frame, question.seen) or not has_boxes:
        return None
    size = "frame" if question.frame is None else "frame that the model was shown"
    return f"{convention.value} boxes, size of the {size} unknown"
