"""What a report page draws of an option with its evidence: tracks of instances, true and predicted."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.utils.evidence.boxes import BoxConvention, FrameSize
from lmms_eval_tasks.utils.evidence.instances import EvidenceInstance
from lmms_eval_tasks.utils.evidence.reader import read_evidence_answer
from lmms_eval_tasks.utils.reporting.page_items import AnswerView, InstanceTrack
from lmms_eval_tasks.utils.scoring.records import Record


def tracks_of(
    instances: Sequence[EvidenceInstance],
    convention: BoxConvention = BoxConvention.XYXY_PX,
    frame: FrameSize | None = None,
    seen: FrameSize | None = None,
) -> tuple[InstanceTrack, ...]:
    """Instances over time, each evidence a span; boxes that cannot be turned into pixels are left out."""
    convertible = convention.can_convert(frame, seen)
    return tuple(
        InstanceTrack(
            instance.name,
            tuple((evidence.start, evidence.end) for evidence in instance.evidences),
            instance.timeline(convention, frame, seen).boxes if convertible else {},
        )
        for instance in instances
    )


def predicted_tracks(record: Record, response: str, frame: FrameSize | None) -> tuple[InstanceTrack, ...]:
    """Tracks of what was answered, read and turned into pixels as they were when `grade_evidence` graded them.

    Args:
        record: The record.
        response: The response.
        frame: Width and height of the clip in pixels, None where unknown.
    """
    boxes = record.fields.get("boxes") or {}
    convention = BoxConvention(boxes.get("convention", BoxConvention.XYXY_PX.value))
    seen = (boxes["seen"][0], boxes["seen"][1]) if boxes.get("seen") else None
    return tracks_of(read_evidence_answer(response).instances, convention, frame, seen)


def evidence_answer_view(record: Record, response: str, frame: FrameSize | None) -> AnswerView:
    """What a page shows of an answer that `grade_evidence` graded: its measures, its tracks, and what they match.

    Args:
        record: The record.
        response: The response.
        frame: Width and height of the clip in pixels, None where unknown.
    """
    grounding = record.fields.get("grounding")
    if not grounding:
        return AnswerView({"evidence": str(record.fields.get("grounding_reason") or "unscored")})
    return AnswerView(
        {
            "IM-tIoU": f"{100 * grounding['im_tiou']:.1f}",
            "IM-vIoU": f"{100 * grounding['im_viou']:.1f}",
            "supported": "yes" if grounding["supported"] else "no",
        },
        predicted_tracks(record, response, frame),
        tuple((pair["predicted"], pair["true"]) for pair in grounding["pairs"]),
    )
