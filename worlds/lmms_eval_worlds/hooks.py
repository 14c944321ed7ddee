"""How a question of Worlds is asked and its answer graded, as in the benchmark that it is after."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import GradedItem, Reply, Row, RunningTask, choice_grader, read_prompt
from lmms_eval_tasks.api.answers import plausibility_grader, verdict_grader
from lmms_eval_tasks.api.evidence import (
    EvidenceFields,
    EvidenceQuestion,
    EvidenceSettings,
    evidence_settings_reader,
    grade_evidence,
    read_truth,
)
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_worlds.card import CARD, COLUMNS, FRAME

read_evidence_settings = evidence_settings_reader(CARD.title, "worlds_evidence", read_prompt)


class SceneFields(LogForm):
    """What a line of a sample log has of every question: its scene and events, its step, and the score of a guess."""

    scene: str
    step: str
    about: list[str]
    chance: float


class GroundedFields(SceneFields, EvidenceFields):
    """The same of a question whose answer has evidence."""


SceneLine, GroundedLine = (log_line(fields, COLUMNS) for fields in (SceneFields, GroundedFields))


def profile_fields(row: Row, *_: object) -> dict[str, Any]:
    """Return the fields of a record that a profile needs; see `profile.ModelProfile`."""
    chance = 100.0 / (len(row["options"]) or 2)
    return {"scene": row["scene"], "step": row["step"], "about": row["about"], "chance": chance}


grade_choice = choice_grader(stratum=COLUMNS, fields=profile_fields)
grade_verdict = verdict_grader(COLUMNS, profile_fields)
grade_plausibility = plausibility_grader(COLUMNS, profile_fields)


def ask_for_evidence(row: Row, settings: EvidenceSettings) -> str:
    """The prompt with the options as ``A: text``, as CaST-Bench has them."""
    options = "\n".join(f"{letter}: {text}" for letter, text in zip(ascii_uppercase, row["options"], strict=False))
    return settings.prompt.render(question=row["question"], options=options)


def grade_grounded(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    settings: EvidenceSettings = context.settings
    question = EvidenceQuestion(
        item_id=row["item_id"],
        group_id=row["group_id"],
        stratum={name: row[name] for name in COLUMNS},
        answer=row["answer"],
        truth=read_truth(row["evidence"]),
        letters=ascii_uppercase[: len(row["options"])],
        frame=FRAME,
        seen=settings.seen(FRAME, context.model),
    )
    record = grade_evidence(question, reply, settings.hits, settings.convention)
    return GradedItem(record.with_fields(**profile_fields(row), prompt=settings.signature))
