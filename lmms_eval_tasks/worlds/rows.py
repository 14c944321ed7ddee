"""Questions as rows of the prepared table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lmms_eval_tasks.worlds.card import ASPECTS, COLUMNS, SPLIT
from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.steps import step_of


def make_rows(questions: Iterable[Question]) -> list[dict[str, Any]]:
    """Rows without `clip_present`, in the order of the questions; the members of a group stand next to each other."""
    return [_row(question) for question in questions]


def _row(question: Question) -> dict[str, Any]:
    aspect = question.kind.split()[0] if question.task in ASPECTS else ""
    return {
        "item_id": question.item_id,
        "group_id": question.group_id,
        "question": question.question,
        "options": question.options,
        "answer": question.answer,
        "clip": f"{SPLIT}/{question.clip}",
        "subset": question.task,
        "scene": question.scene,
        "step": step_of(question.task, aspect),
        "family": question.family,
        "depth": str(question.depth),
        "bodies": str(question.bodies),
        "distractors": str(question.distractors),
        "occlusion": question.occlusion,
        "aspect": aspect,
        "level": question.level,
        "marked": "marked" if question.marked else "plain",
        "start": "same" if question.same_start else "other",
        "principle": question.principle,
        "arrow": question.arrow,
        "asks": question.kind,
        "wording": question.wording,
        "intervention": question.intervention,
        "changed": question.changed,
        "about": [", ".join(filter(None, key)) for key in question.about],
        "seen": question.seen,
        "evidence": question.evidence,
    }


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    import pyarrow as pa

    texts = ("subset", "scene", "step", *COLUMNS, "asks", "intervention", "changed", "seen", "evidence")
    return {**dict.fromkeys(texts, pa.string()), "wording": pa.int64(), "about": pa.list_(pa.string())}
