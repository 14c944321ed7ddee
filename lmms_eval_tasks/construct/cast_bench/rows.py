"""Rows of a CaST-Bench build from step to step, its configuration, rules about texts, and questions in released
form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from string import ascii_uppercase
from typing import Any, Literal

from pydantic import Field

from lmms_eval_tasks.cast_bench.release import ANSWER, QuestionRoles
from lmms_eval_tasks.construct.engine.config import BuildConfig, ConfigPath
from lmms_eval_tasks.construct.engine.steps import Form, PipelineRow
from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.core.text import clock


class CastBenchConfig(BuildConfig):
    clips: ConfigPath
    tracks: ConfigPath
    masklets: Literal["manual", "auto", "both"] = "both"
    descriptions: ConfigPath | None = None
    revisions: ConfigPath | None = None
    questions: int = Field(default=6, ge=1, le=16)
    tries: int = Field(default=3, ge=1, le=10)
    frames: int = Field(default=16, ge=1, le=256)
    side: int = Field(default=768, ge=64, le=4096)
    largest_jump: float = Field(default=0.06, gt=0.0, le=1.0)
    largest_shake: float = Field(default=0.01, gt=0.0, le=1.0)
    largest_blur: float = Field(default=0.6, gt=0.0, le=1.0)


PixelBox = tuple[int, int, int, int]
"""``x1, y1, x2, y2`` in pixels of the clip's frame, outer edges."""


def as_label(name: str) -> str:
    """Return a name in the form in which a release names instances: `red ball` becomes `red_ball`."""
    return "_".join(name.split())


class TrackedInstance(RowForm):
    id: str
    source: str
    name: str
    boxes: dict[int, PixelBox]


class TimedEntry(RowForm):
    start: int
    end: int
    text: str


class ClipRow(PipelineRow):
    clip: str
    width: int
    height: int
    last: int
    instances: tuple[TrackedInstance, ...]
    edited: dict[str, tuple[TimedEntry, ...]] = Field(default_factory=dict)
    described: tuple[InstanceRow, ...] = ()

    @property
    def by_id(self) -> dict[str, InstanceRow]:
        return {one.instance.id: one for one in self.described}


class InstanceRow(PipelineRow):
    source: ClipRow
    instance: TrackedInstance
    category: str = ""
    person: bool = False
    description: str = ""
    entries: tuple[TimedEntry, ...] = ()

    @property
    def label(self) -> str:
        """Label of the instance in the release: its name if no other of the clip has it, else a noun and its id."""
        own = as_label(self.instance.name)
        alike = [one for one in self.source.instances if as_label(one.name) == own]
        return own if own and len(alike) == 1 else f"{own or as_label(self.category)}_{self.instance.id}"


class WrittenEvidence(Form):
    instance: str
    start: str
    end: str
    rationale: str


class WrittenQuestion(Form):
    question: str
    subject: str | None
    start: str | None
    end: str | None
    type: str
    scene: str
    answer: str
    evidence: list[WrittenEvidence]
    video_distractor: str


class DraftRow(PipelineRow):
    clip: ClipRow
    written: WrittenQuestion


class EvidencePiece(RowForm):
    instance: str
    start: int
    end: int
    rationale: str
    boxes: dict[int, PixelBox] = Field(default_factory=dict)


class QuestionRow(PipelineRow):
    clip: ClipRow
    question: str
    type: str
    scene: str
    subject: str | None
    span: tuple[int, int] | None
    answer: str
    evidence: tuple[EvidencePiece, ...]
    text_distractor: str = ""
    video_distractor: str
    options: dict[str, str] = Field(default_factory=dict)
    """Role to text, in the order in which they are shown."""

    @property
    def lettered(self) -> dict[str, str]:
        return dict(zip(ascii_uppercase, self.options.values(), strict=False))

    @property
    def key(self) -> str:
        return ascii_uppercase[list(self.options).index(ANSWER)]


LONGEST = 600
"""Characters of a text that a model writes."""
_WORD = re.compile(r"[^\W_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W_]+)*")


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def is_legible(text: str) -> bool:
    """Whether a text on one line is printable and of `LONGEST` characters at most."""
    return len(text) <= LONGEST and text.isprintable()


def words_of(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def holds_id(texts: Iterable[str], ids: Iterable[str]) -> bool:
    """Whether a text calls an instance by its id; an id of letters alone may be a word, and is none here."""
    marked = [re.escape(one) for one in ids if re.search(r"[\d_]", one)]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(marked)})(?!\w)", re.IGNORECASE)
    return bool(marked) and any(pattern.search(text) for text in texts)


NOT_SEEN = (-1, -1, -1, -1)
"""The box of a second in which an instance is not seen, as the release has it."""


def released_row(row: QuestionRow) -> dict[str, Any]:
    return {
        "video": row.clip.clip,
        "question": row.question,
        "question_type": row.type,
        "scene_category": row.scene,
        "options": row.lettered,
        "answer": row.key,
        "evidence": json.dumps(released_evidence(row), ensure_ascii=False),
    }


def roles_of(row: QuestionRow) -> QuestionRoles:
    """Return the facts about a question that a release omits: its name, its subject with its boxes, and each option's
    role."""
    start, end = map(clock, row.span) if row.span else (None, None)
    seen = [one["bboxes_in_range"] for one in subject_evidence(row)]
    return QuestionRoles(
        id=row.id,
        video=row.clip.clip,
        question=row.question,
        subject=None if row.subject is None else row.clip.by_id[row.subject].label,
        question_start_time=start,
        question_end_time=end,
        subject_boxes=seen[0] if seen else {},
        option_roles=dict(zip(ascii_uppercase, row.options, strict=False)),
    )


def released_evidence(row: QuestionRow) -> list[dict[str, Any]]:
    return [released_piece(row.clip.by_id[one.instance], one) for one in row.evidence]


def subject_evidence(row: QuestionRow) -> list[dict[str, Any]]:
    """Return the subject as a piece of evidence for the time that the question is about; none without one."""
    if row.subject is None:
        return []
    subject = row.clip.by_id[row.subject]
    start, end = row.span or (0, row.clip.last)
    piece = EvidencePiece(instance=row.subject, start=start, end=end, rationale="", boxes=subject.instance.boxes)
    return [released_piece(subject, piece)]


def released_piece(instance: InstanceRow, piece: EvidencePiece) -> dict[str, Any]:
    return {
        "evidence_start_time": clock(piece.start),
        "evidence_end_time": clock(piece.end),
        "evidence_instance_id": instance.label,
        "evidence_rationale": piece.rationale,
        "SAV_instance_id": instance.instance.source,
        "bboxes_in_range": {
            str(second): str(list(piece.boxes.get(second, NOT_SEEN))) for second in range(piece.start, piece.end + 1)
        },
    }
