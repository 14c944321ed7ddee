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
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import PipelineRow
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


class DescribedClipRow(PipelineRow):
    source: ClipRow
    described: tuple[InstanceRow, ...]

    @property
    def by_id(self) -> dict[str, InstanceRow]:
        return {one.instance.id: one for one in self.described}


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
    about: DescribedClipRow
    written: WrittenQuestion


class EvidencePiece(RowForm):
    instance: str
    start: int
    end: int
    rationale: str
    boxes: dict[int, PixelBox] = Field(default_factory=dict)


class QuestionRow(PipelineRow):
    about: DescribedClipRow
    question: str
    type: str
    scene: str
    subject: str | None
    span: tuple[int, int] | None
    answer: str
    evidence: tuple[EvidencePiece, ...]
    text_distractor: str = ""
    video_distractor: str

    @property
    def clip(self) -> ClipRow:
        return self.about.source


class RoledOption(RowForm):
    role: str
    text: str


class OptionsRow(PipelineRow):
    asked: QuestionRow
    options: tuple[RoledOption, ...]

    @property
    def key(self) -> int:
        return [option.role for option in self.options].index(ANSWER)


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


def released_row(row: OptionsRow) -> dict[str, Any]:
    asked = row.asked
    return {
        "video": asked.clip.clip,
        "question": asked.question,
        "question_type": asked.type,
        "scene_category": asked.scene,
        "options": {letter: option.text for letter, option in zip(ascii_uppercase, row.options, strict=False)},
        "answer": ascii_uppercase[row.key],
        "evidence": json.dumps(released_evidence(asked), ensure_ascii=False),
    }


def roles_of(row: OptionsRow) -> QuestionRoles:
    """Return the facts about a question that a release omits: its name in the build, its subject, and each option's
    role."""
    asked = row.asked
    start, end = map(clock, asked.span) if asked.span else (None, None)
    return QuestionRoles(
        id=row.id,
        video=asked.clip.clip,
        question=asked.question,
        subject=None if asked.subject is None else asked.about.by_id[asked.subject].label,
        question_start_time=start,
        question_end_time=end,
        option_roles={letter: option.role for letter, option in zip(ascii_uppercase, row.options, strict=False)},
    )


def released_evidence(asked: QuestionRow) -> list[dict[str, Any]]:
    return [released_piece(asked.about.by_id[one.instance], one) for one in asked.evidence]


def subject_evidence(asked: QuestionRow) -> list[dict[str, Any]]:
    """Return the subject in the form of a piece of evidence, for the seconds that the question is about; none without
    one."""
    if asked.subject is None:
        return []
    subject = asked.about.by_id[asked.subject]
    start, end = asked.span or (0, asked.clip.last)
    boxes = subject.instance.boxes
    piece = EvidencePiece(instance=asked.subject, start=start, end=end, rationale="", boxes=boxes)
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
