"""Filters of questions that can be answered without the clip or without their evidence, and the last review by people.

Source: CaST-Bench, supplement, 10.6: a text filter, then a filter on the clip with the boxes of the question's
subject and of all evidence masked, where "unable to determine" is among the options; then people revise or discard
questions, options and evidence. The conditions that a revision has to fulfil, and that a question nobody reviewed
goes, are ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase

from pydantic import Field

from lmms_eval_tasks.cast_bench.benchmark import wording_of
from lmms_eval_tasks.cast_bench.masked import UNABLE, timed_boxes
from lmms_eval_tasks.cast_bench.release import ANSWER
from lmms_eval_tasks.construct.cast_bench.clip_selection import blacken, clip_images, spread_seconds
from lmms_eval_tasks.construct.cast_bench.descriptions import EditedText
from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    EvidencePiece,
    QuestionRow,
    is_legible,
    on_one_line,
    released_evidence,
    released_row,
    subject_evidence,
    words_of,
)
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Remove, Removed, keep_each, step
from lmms_eval_tasks.construct.engine.texts import read_span
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import RawText, ReleaseRow, WholeText, read_content, read_json_form
from lmms_eval_tasks.utils.core.text import clock, quote

BLIND_SOLVER, MASKED_SOLVER = "blind_solver", "masked_solver"


class Choice(Form):
    choice: str = Field(pattern="^[A-F]$")


@step("text filter", asks=[BLIND_SOLVER], requests=1, characters=900, reply_tokens=20, passes=0.6)
def filter_by_text(row: QuestionRow, asking: Asking) -> QuestionRow:
    reply = asking.ask(BLIND_SOLVER, "cast_bench_without_clip", Choice, question=row.question, options=row.lettered)
    if reply.choice == row.key:
        raise Removed("answered right without the clip")
    return row


class ChoiceOrUnable(Form):
    """The letter of one of the six options, or of the one that says that it cannot be determined."""

    choice: str = Field(pattern="^[A-G]$")


@step(
    "video-mask filter", asks=[MASKED_SOLVER], paper="about 40% after both filters",
    requests=1, characters=1100, images=14, reply_tokens=20, passes=0.67,
)  # fmt: skip
def filter_by_mask(row: QuestionRow, asking: Asking, config: CastBenchConfig) -> QuestionRow:
    """Remove a question that a model answers right although all evidence, and the subject while the question is about
    it, are black."""
    seconds = spread_seconds(range(row.clip.last + 1), config.frames)
    boxes = timed_boxes({"evidence": json.dumps([*released_evidence(row), *subject_evidence(row)])})
    images = clip_images(row.clip, seconds, config, asking, lambda second, picture: blacken(picture, second, boxes))
    reply = asking.ask(
        MASKED_SOLVER, "cast_bench_masked_clip", ChoiceOrUnable, images,
        seconds=[clock(second) for second in seconds], question=row.question,
        options={**row.lettered, ascii_uppercase[len(row.options)]: UNABLE},
    )  # fmt: skip
    if reply.choice == row.key:
        raise Removed("answered right with its evidence masked")
    return row


class Revision(ReleaseRow):
    item_id: RawText
    version: RawText
    annotator: RawText
    question: WholeText
    options: list[WholeText]
    entries: list[EditedText]
    discarded: bool
    comment: WholeText = ""


def read_revisions(path: Path) -> dict[str, Revision]:
    problems = Problems()
    revisions: dict[str, Revision] = {}
    decisions = {"question", "options", "entries", "discarded"}
    for row in read_json_form(Revision, read_content(path), path.name, problems, lines=True):
        first = revisions.setdefault(row.version, row)
        if first.model_dump(include=decisions) != row.model_dump(include=decisions):
            both = f"{first.annotator} and {row.annotator} of {quote(row.item_id)}"
            problems.add(row.where, f"Expected one revision of each question, but got different ones by {both}.")
    problems.raise_if_any("The revisions cannot be used", "nothing was asked")
    return revisions


@step("last review")
def apply_revisions(
    rows: Sequence[QuestionRow], remove: Remove, revisions: Mapping[str, Revision]
) -> list[QuestionRow]:
    """Take each question as a reviewer left it; those that are discarded, or that nobody reviewed, go."""
    return keep_each(rows, remove, lambda row: _revised(row, revisions))


def _revised(row: QuestionRow, revisions: Mapping[str, Revision]) -> QuestionRow:
    shown = released_row(row)
    texts = list(shown["options"].values())
    version = wording_of(shown["video"], shown["question"], texts, shown["answer"], shown["evidence"])
    revision = revisions.get(version)
    if revision is None:
        raise Removed("nobody reviewed it as it is now", version)
    if revision.discarded:
        raise Removed("discarded by a reviewer", f"{revision.annotator}: {revision.comment or '–'}")
    question, *options = (on_one_line(text) for text in (revision.question, *revision.options))
    if len(options) != len(texts):
        raise Removed("revision with another number of options", f"{len(options)} of {len(texts)}")
    if not all(text and is_legible(text) for text in (question, *options)):
        raise Removed("revised text that is empty, too long or not printable", " / ".join((question, *options)))
    if len({tuple(words_of(text)) for text in options}) < len(options):
        raise Removed("two options are equal after the revision", " / ".join(options))
    roled = dict(zip(row.options, options, strict=True))
    evidence = _revised_evidence(row, revision.entries)
    changes = {"question": question, "answer": roled[ANSWER], "options": roled, "evidence": evidence}
    return row.model_copy(update=changes)


def _revised_evidence(row: QuestionRow, entries: Sequence[EditedText]) -> tuple[EvidencePiece, ...]:
    if not entries:
        raise Removed("revision without evidence")
    by_label = {one.label: one.instance for one in row.clip.described}
    pieces = []
    for entry in entries:
        instance, span = by_label.get(entry.name), read_span(entry.start, entry.end, row.clip.last)
        if instance is None:
            raise Removed("revised evidence of somebody who is not in the clip", entry.name)
        if span is None:
            raise Removed("revised evidence outside the clip", f"{entry.start} to {entry.end}")
        boxes = {second: box for second, box in instance.boxes.items() if span[0] <= second <= span[1]}
        if not boxes:
            raise Removed("revised evidence without a box", f"{entry.name} {clock(span[0])} to {clock(span[1])}")
        text = on_one_line(entry.text)
        pieces.append(EvidencePiece(instance=instance.id, start=span[0], end=span[1], rationale=text, boxes=boxes))
    return tuple(pieces)
