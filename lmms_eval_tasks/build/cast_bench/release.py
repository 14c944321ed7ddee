"""The set in the form of CaST-Bench's release, its clips, and beside it what a release does not say."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.build.cast_bench.clock import clock
from lmms_eval_tasks.build.cast_bench.config import CastBenchConfig
from lmms_eval_tasks.build.cast_bench.rows import (
    DescribedClipRow,
    EvidencePiece,
    InstanceRow,
    OptionsRow,
    QuestionRow,
)
from lmms_eval_tasks.cast_bench.released import FILE
from lmms_eval_tasks.cast_bench.roles_file import ROLES, QuestionRoles
from lmms_eval_tasks.utils.answers.evidence import DEFAULTS
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.prepare import link_or_copy

VIDEOS = "videos"
DESCRIPTIONS = "descriptions"
"""Folder of what instances do, as questions that nobody asks, so that `annotate` can have them edited."""
NOT_SEEN = (-1, -1, -1, -1)
"""The box of a second in which an instance is not seen, as the release has it."""


def write_release(rows: Sequence[OptionsRow], folder: Path, config: CastBenchConfig) -> list[str]:
    """Write the questions in their order, their clips, and a line about each question that a release has no field
    for."""
    (folder / VIDEOS).mkdir()
    for clip in dict.fromkeys(row.asked.clip.clip for row in rows):
        link_or_copy((config.clips / clip).resolve(), folder / VIDEOS / clip)
    write_file(folder / FILE, as_lines(released_row(row) for row in rows))
    clips = {row.asked.clip.id: row.asked.about for row in rows}
    write_file(folder / DESCRIPTIONS / FILE, as_lines(map(described_row, clips.values())))
    write_file(folder / ROLES, as_lines(roles_of(row).model_dump() for row in rows))
    carry_sample_mark(config.clips, folder)
    unmatched = sum(_has_short_instance(row.asked) for row in rows)
    if not unmatched:
        return []
    return [
        f"{unmatched:,} questions have an instance whose evidence spans less than {DEFAULTS.eps_overlap} seconds: as "
        "the official code is run, no answer can be matched with it."
    ]


def _has_short_instance(asked: QuestionRow) -> bool:
    spans: defaultdict[str, list[int]] = defaultdict(list)
    for one in asked.evidence:
        spans[one.instance] += [one.start, one.end]
    return any(max(seconds) - min(seconds) + 1 < DEFAULTS.eps_overlap for seconds in spans.values())


def released_row(row: OptionsRow) -> dict[str, Any]:
    """A question as `castbench_hf.jsonl` has it."""
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


def described_row(about: DescribedClipRow) -> dict[str, Any]:
    """Return the actions of a clip's instances in the form of a question's evidence."""
    entries = [
        _released_piece(
            one,
            EvidencePiece(
                instance=one.instance.id,
                start=entry.start,
                end=entry.end,
                rationale=entry.text,
                boxes=one.instance.boxes,
            ),
        )
        for one in about.described
        for entry in one.entries
    ]
    return {
        "video": about.source.clip,
        "question": "Do those in the clip do what is written?",
        "question_type": "Other",
        "scene_category": "",
        "options": {"A": "Yes.", "B": "No."},
        "answer": "A",
        "evidence": json.dumps(entries, ensure_ascii=False),
    }


def roles_of(row: OptionsRow) -> QuestionRoles:
    """Return the facts about a question that a release omits: its name in the build, its subject, and each option's
    role."""
    asked = row.asked
    return QuestionRoles(
        id=row.id,
        video=asked.clip.clip,
        question=asked.question,
        subject=None if asked.subject is None else _instance(asked, asked.subject).label,
        question_start_time=None if asked.span is None else clock(asked.span[0]),
        question_end_time=None if asked.span is None else clock(asked.span[1]),
        option_roles={letter: option.role for letter, option in zip(ascii_uppercase, row.options, strict=False)},
    )


def released_evidence(asked: QuestionRow) -> list[dict[str, Any]]:
    """The evidence of a question as a release has it, a box for every second of each piece."""
    return [_released_piece(_instance(asked, one.instance), one) for one in asked.evidence]


def subject_evidence(asked: QuestionRow) -> list[dict[str, Any]]:
    """The subject in the form of a piece of evidence, for the seconds that the question is about; none without one."""
    if asked.subject is None:
        return []
    subject = _instance(asked, asked.subject)
    start, end = asked.span or (0, asked.clip.last)
    boxes = subject.instance.boxes
    piece = EvidencePiece(instance=asked.subject, start=start, end=end, rationale="", boxes=boxes)
    return [_released_piece(subject, piece)]


def _instance(asked: QuestionRow, name: str) -> InstanceRow:
    """An instance that the schema found to be there."""
    instance = asked.about.find(name)
    assert instance is not None
    return instance


def _released_piece(instance: InstanceRow, piece: EvidencePiece) -> dict[str, Any]:
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
