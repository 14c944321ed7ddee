"""Evidence in answers: boxes with times as JSON, how they are read, and how well they match the truth."""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.benchmark import Masking
from lmms_eval_tasks.utils.evidence.box_conventions import convention_warnings
from lmms_eval_tasks.utils.evidence.boxes import BoxConvention, official_box
from lmms_eval_tasks.utils.evidence.grounding import GroundingSettings, ground_evidence
from lmms_eval_tasks.utils.evidence.instances import EvidenceInstance
from lmms_eval_tasks.utils.evidence.reader import EVIDENCE_READER, read_evidence_answer, read_truth
from lmms_eval_tasks.utils.evidence.settings import EvidenceSettings, evidence_settings_reader
from lmms_eval_tasks.utils.evidence.timestamps import is_clock

__all__ = [
    "EVIDENCE_READER",
    "BoxConvention",
    "EvidenceInstance",
    "EvidenceSettings",
    "GroundingSettings",
    "Masking",
    "convention_warnings",
    "evidence_settings_reader",
    "ground_evidence",
    "is_clock",
    "official_box",
    "read_evidence_answer",
    "read_truth",
]
