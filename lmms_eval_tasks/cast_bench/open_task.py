"""How a question of the task `cast_bench_open` is asked and graded: without options, by a judge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePosixPath
from string import ascii_uppercase

from lmms_eval_tasks.cast_bench.open_ended import OpenEndedScores, OpenQuestion, ReferenceEvidence, grade_answer
from lmms_eval_tasks.utils.benchmark.benchmark import Row, TaskContext, TaskSettings
from lmms_eval_tasks.utils.evidence.timestamps import official_seconds
from lmms_eval_tasks.utils.prompting.questions import prompt_reader, without_clip
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, GradedItem

PROMPT = "cast_bench_open"
FIELDS = frozenset({"question"})


def ask(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question without its options, and what an answer has to hold."""
    assert settings.prompt is not None
    return without_clip(settings.prompt.render(question=row["question"]), row["asked"])


read_settings = prompt_reader(fields=FIELDS, default=PROMPT)


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Have the judge grade a free answer; raises nothing."""
    asked = row["asked"] and response != NOT_ASKED
    question = replace(read_open_question(row), asked=asked)
    record = grade_answer(question, response if asked else "", context.judge(OpenEndedScores))
    return GradedItem(record.with_fields(prompt=context.settings.signature))


def read_open_question(row: Row) -> OpenQuestion:
    """A row of the prepared table as the judge needs it."""
    return OpenQuestion(
        item_id=row["item_id"],
        group_id=PurePosixPath(row["clip"]).stem,
        question=row["question"],
        answer=right_option(row),
        evidence=tuple(
            ReferenceEvidence(
                start=_clock(entry.get("evidence_start_time")),
                end=_clock(entry.get("evidence_end_time")),
                instance=str(entry.get("evidence_instance_id") or entry.get("instance_id") or ""),
                rationale=str(entry.get("evidence_rationale") or ""),
            )
            for entry in json.loads(row["evidence"])
        ),
        stratum={"category": row["category"]},
    )


def _clock(time: object) -> str:
    """A released time as the judge is told it: a text as it is, anything else as the official code reads it."""
    seconds = official_seconds(time)
    return time if isinstance(time, str) else f"{seconds // 60:02d}:{seconds % 60:02d}"


def right_option(row: Row) -> str | None:
    """Text of the right option, None where the key is withheld."""
    return row["options"][ascii_uppercase.index(row["answer"])] if row["answer"] else None
