"""Read the evidence in answers, boxes with times as JSON, and grade it against the truth."""

from __future__ import annotations

from lmms_eval_tasks.prompting import evidence_settings_reader
from lmms_eval_tasks.utils.answers.evidence import (
    EVIDENCE_FORMAT,
    EVIDENCE_SCORES,
    EvidenceFields,
    EvidenceQuestion,
    EvidenceSettings,
    GroundingSettings,
    convention_warnings,
    grade_evidence,
)
from lmms_eval_tasks.utils.answers.evidence_boxes import EvidenceInstance, official_box
from lmms_eval_tasks.utils.answers.evidence_reading import EVIDENCE_READER, is_clock, read_evidence_answer, read_truth
from lmms_eval_tasks.utils.benchmark.views import Masking

__all__ = [
    "EVIDENCE_FORMAT",
    "EVIDENCE_READER",
    "EVIDENCE_SCORES",
    "EvidenceFields",
    "EvidenceInstance",
    "EvidenceQuestion",
    "EvidenceSettings",
    "GroundingSettings",
    "Masking",
    "convention_warnings",
    "evidence_settings_reader",
    "grade_evidence",
    "is_clock",
    "official_box",
    "read_evidence_answer",
    "read_truth",
]
