"""Asking of CaST-Bench's questions with their options, and grading of answers with their evidence.

Source: CaST-Bench-Evaluation@a216491. The official prompt, of a checkout of it, is inference/prompt.md, a template for
`str.format`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from string import Formatter, ascii_uppercase
from typing import Annotated, Any

from pydantic import Field

from lmms_eval_tasks.api import GradedItem, Outcome, Reply, Row, RowForm, RunningTask, hook
from lmms_eval_tasks.api.evidence import (
    EvidenceFields,
    EvidenceInstance,
    EvidenceQuestion,
    EvidenceSettings,
    convention_warnings,
    evidence_settings_reader,
    grade_evidence,
    read_evidence_answer,
    read_truth,
)
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt
from lmms_eval_tasks.api.release import load_table
from lmms_eval_tasks.api.runs import LogForm, Restored, log_line
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.masked import BLACK, added_option
from lmms_eval_tasks.cast_bench.open_ended import right_option
from lmms_eval_tasks.cast_bench.release import frame_of

__all__ = ["open_doc_to_target"]

PROMPT = "cast_bench_evidence"
"""Id of our own prompt."""
SMALL_BOX_AREA = 10_000
"""A question is about small things where its true boxes have a smaller mean area, in square pixels.

Source: ``bbox_threshold`` in `evaluate_benchmark.py`.
"""
# What stands before an option on its line.
_LABEL = re.compile(r"\n(\(?[A-Z]\)?[:.)]?[ \t]*)?\Z")
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


@hook
def open_doc_to_target(task: RunningTask, doc: Row) -> str:
    """The text of the right option; empty where the key is withheld."""
    return right_option(doc) or ""


def normal_form(template: str) -> str:
    """A template whose fields are the question and the options, one field each whatever they are called."""
    pieces = list(Formatter().parse(template.strip() + "\n"))
    named = [(number, name) for number, (_, name, _, _) in enumerate(pieces) if name is not None]
    asked = [number for number, name in named if "question" in name.lower()]
    listed = [number for number, name in named if "question" not in name.lower()]
    if len(asked) != 1 or not listed or listed != list(range(listed[0], listed[-1] + 1)):
        raise ValueError(f"its fields are {', '.join(name for _, name in named) or 'none'}")
    parts = []
    for number, (text, name, _, _) in enumerate(pieces):
        if number not in listed:
            parts.append(Prompt.literal(text) + ("{question}" if name is not None else ""))
            continue
        label = _LABEL.search(text)
        if label is None or (number > listed[0] and label.start() > 0):
            raise ValueError(f"its field {name} is not on a line of its own behind the options before it")
        if number == listed[0]:
            parts.append(Prompt.literal(text[: label.start()]) + "\n{options}")
    return "".join(parts).strip()


OFFICIAL_PROMPT = OfficialPrompt(
    benchmark="cast_bench",
    part="template",
    file="inference/prompt.md",
    template=normal_form,
    replaces=PROMPT,
)
read_settings = evidence_settings_reader(CARD.title, PROMPT, OFFICIAL_PROMPT.find)


def restore_settings(context: RunningTask, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> Restored:
    """Read boxes and match evidence as the log of a finished run says it was done."""
    fields = [line["record"]["fields"] for line in lines]
    submitted = [line.get("submission_rows") or {} for line in lines]
    settings = context.settings.as_logged(
        (((row["width"], row["height"]), one.get("boxes") or {}) for row, one in zip(rows, fields, strict=True)),
        [one["matching"] for one in fields if one.get("matching")],
        [one["settings"] for one in submitted if one.get("settings")],
    )
    return Restored(settings)


def ask(row: Row, settings: EvidenceSettings) -> str:
    """The prompt: question, options, and the form of the answer; options as ``A: text``, as the official script has."""
    options = "\n".join(f"{letter}: {text}" for letter, text in zip(ascii_uppercase, row["options"], strict=False))
    return settings.prompt.render(question=row["question"], options=options)


def guesses(row: Row) -> list[str]:
    """Every option as an answer without evidence."""
    letters = ascii_uppercase[: len(row["options"])]
    return [json.dumps({"instances": [], "answer_choice": letter}) for letter in letters]


class CastFields(EvidenceFields):
    chosen_kind: str | None = None


class HitsForm(RowForm):
    """Thresholds for counting evidence as a hit: the fields of `GroundingSettings`, which the metrics file repeats."""

    eps_overlap: Count
    tau_t: Share
    tau_st: Share
    coverage_aware: bool


class EvidenceSubmission(LogForm):
    prompt: str
    predict: str
    asked: bool
    settings: HitsForm


EvidenceLine = log_line(CastFields, submission=EvidenceSubmission | None)


def grade(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Grade the answer and its evidence; name the kind of a wrong option that was chosen, where the release does."""
    settings: EvidenceSettings = context.settings
    question = read_question(row, settings, context.model)
    record = grade_evidence(question, reply, settings.hits, settings.convention)
    added = added_option(row)
    if added and record.fields["grounding"] is not None:
        record = record.with_fields(grounding=None, grounding_reason=BLACK)
    record = record.with_fields(prompt=settings.signature, **added)
    kinds: Sequence[str | None] = row["option_kinds"] or ()
    if record.outcome is Outcome.WRONG and kinds and record.answered:
        chosen = ascii_uppercase.index(record.answered)
        record = record.with_fields(chosen_kind=kinds[chosen] if chosen < len(kinds) else None)
    submission = {
        "split": row["split"],
        "item_id": record.item_id,
        "prompt": ask(row, settings),
        "predict": reply.text,
        "asked": not reply.missing,
        "settings": asdict(settings.hits),
    }
    return GradedItem(record, submission)


def read_question(row: Row, settings: EvidenceSettings, model: Any) -> EvidenceQuestion:
    """A row of the prepared table as scoring needs it."""
    frame, truth = frame_of(row), read_truth(row["evidence"])
    return EvidenceQuestion(
        item_id=row["item_id"],
        group_id=PurePosixPath(row["clip"]).stem,
        stratum={"category": row["category"], "subtype": row["subtype"], "size": size_of(truth)},
        answer=row["answer"],
        truth=truth,
        letters=ascii_uppercase[: len(row["options"])],
        frame=frame,
        seen=settings.seen(frame, model),
    )


def size_of(truth: Sequence[EvidenceInstance]) -> str:
    """Whether a question is about small things or large ones."""
    return "small" if mean_box_area(truth) < SMALL_BOX_AREA else "large"


def mean_box_area(instances: Sequence[EvidenceInstance]) -> float:
    """Mean area of all boxes, in square pixels; 0 where there is none.

    Source: ``compute_avg_gt_bbox_area`` of `evaluate_benchmark.py`, by which it tells questions about small things from
    those about large ones.
    """
    boxes = (box for instance in instances for evidence in instance.evidences for box in evidence.boxes)
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes]
    return sum(areas) / len(areas) if areas else 0.0


def warnings(items: Sequence[GradedItem], context: RunningTask) -> list[str]:
    """Warn where boxes look as if they were written in another convention than they were read in."""
    settings: EvidenceSettings = context.settings
    responses = {item.record.item_id: item.submission["predict"] for item in items if item.record.asked}
    table = load_table(CARD.name, items[0].submission["split"], require_clips=False) if items else ()
    questions = [read_question(row, settings, context.model) for row in table if row["item_id"] in responses]
    cases = [(question, read_evidence_answer(responses[question.item_id]).instances) for question in questions]
    return convention_warnings(CARD.title, cases, settings.convention)
