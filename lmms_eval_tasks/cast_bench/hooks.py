"""The hooks of CaST-Bench's tasks: how a question of `cast_bench` is asked and graded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import (
    GradedItem,
    Outcome,
    Record,
    Row,
    RunningTask,
    TaskContext,
    hook,
)
from lmms_eval_tasks.api.evidence import (
    EvidenceQuestion,
    EvidenceSettings,
    convention_warnings,
    grade_evidence,
    read_evidence_answer,
    read_truth,
)
from lmms_eval_tasks.api.release import load_table
from lmms_eval_tasks.cast_bench import open_ended
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.grading import evidence_question
from lmms_eval_tasks.cast_bench.masked import BLACK, added_option
from lmms_eval_tasks.cast_bench.prepare import frame_of

__all__ = [
    "doc_to_text",
    "open_doc_to_target",
    "open_doc_to_text",
    "open_process_results",
    "process_results",
    "write_submission",
]


@hook
def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: question, options, and the form of the answer."""
    return task.put(doc, lmms_eval_specific_kwargs, render_prompt)


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer with its evidence, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)


@hook
def write_submission(task: RunningTask, items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the files for the leaderboard, and warn of boxes in another convention; the number of rows."""
    return task.finish(items, args, warnings)


@hook
def open_doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt of a free answer: the question without its options."""
    return task.put(doc, lmms_eval_specific_kwargs, open_ended.ask)


@hook
def open_doc_to_target(task: RunningTask, doc: Row) -> str:
    """The text of the right option; empty where the key is withheld."""
    return open_ended.right_option(doc) or ""


@hook
def open_process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a free answer with its verdicts, and what it contributes to each score."""
    return task.grade_first(doc, results, open_ended.grade)


def render_prompt(row: Row, settings: EvidenceSettings) -> str:
    """The prompt: question, options, and the form of the answer; options as ``A: text``, as the official script has."""
    options = "\n".join(f"{letter}: {text}" for letter, text in zip(ascii_uppercase, row["options"], strict=False))
    return settings.prompt.render(question=row["question"], options=options)


def guesses(row: Row) -> list[str]:
    """Every option as an answer without evidence."""
    letters = ascii_uppercase[: len(row["options"])]
    return [json.dumps({"instances": [], "answer_choice": letter}) for letter in letters]


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade the answer and its evidence."""
    settings: EvidenceSettings = context.settings
    question = read_question(row, settings, context.model)
    record = grade_evidence(question, response, settings.hits, settings.convention)
    added = added_option(row)
    if added and record.fields["grounding"] is not None:
        record = record.with_fields(grounding=None, grounding_reason=BLACK)
    record = record.with_fields(prompt=settings.signature, **_chosen_kind(row, record), **added)
    submission = {
        "split": row["split"],
        "item_id": record.item_id,
        "prompt": render_prompt(row, settings),
        "predict": response if isinstance(response, str) else "",
        "asked": question.asked,
        "settings": asdict(settings.hits),
    }
    return GradedItem(record, submission)


def _chosen_kind(row: Row, record: Record) -> dict[str, str | None]:
    """Return the kind of the wrong option that was chosen, if the release names kinds."""
    kinds: Sequence[str | None] = row["option_kinds"] or ()
    if record.outcome is not Outcome.WRONG or not kinds or not record.answered:
        return {}
    chosen = ascii_uppercase.index(record.answered)
    return {"chosen_kind": kinds[chosen] if chosen < len(kinds) else None}


def read_question(row: Row, settings: EvidenceSettings, model: Any) -> EvidenceQuestion:
    """A row of the prepared table as scoring needs it."""
    frame = frame_of(row)
    return evidence_question(
        item_id=row["item_id"],
        clip=PurePosixPath(row["clip"]).stem,
        category=row["category"],
        subtype=row["subtype"],
        answer=row["answer"],
        truth=read_truth(row["evidence"]),
        letters=ascii_uppercase[: len(row["options"])],
        frame=frame,
        seen=settings.seen(frame, model),
        asked=row.get("asked", True),
    )


def warnings(items: Sequence[GradedItem], context: TaskContext) -> list[str]:
    """Warn where boxes look as if they were written in another convention than they were read in."""
    settings: EvidenceSettings = context.settings
    responses = {item.record.item_id: item.submission["predict"] for item in items if item.record.asked}
    table = load_table(CARD.name, items[0].submission["split"], require_clips=False) if items else ()
    cases = []
    for row in table:
        if row["item_id"] in responses:
            question = read_question(row, settings, context.model)
            cases.append((question, read_evidence_answer(responses[question.item_id]).instances))
    return convention_warnings(CARD.title, cases, settings.convention)
