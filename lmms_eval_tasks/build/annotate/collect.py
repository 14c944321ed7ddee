"""Annotators' answer files, joined with their plan: choices for `humans`, ratings, reviews, edited texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.build.annotate.forms import AnswerFile, Collected, GivenAnswer, answer_faults, plan_digest
from lmms_eval_tasks.build.annotate.plan import Plan, PlannedItem
from lmms_eval_tasks.utils.core.errors import GroupedIssues, InputError, Problems
from lmms_eval_tasks.utils.core.forms import read_object
from lmms_eval_tasks.utils.people.inquiries import Inquiry

COLUMNS = ("item", "version", "annotator", "choice")
RATED_COLUMNS = ("item", "version", "item_id", "annotator")
"""Before the scales."""


def read_answer_files(plan: Plan, paths: Sequence[Path], inquiry: Inquiry) -> list[AnswerFile]:
    """The files that pages of a plan saved, one an annotator."""
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    digest, own = plan_digest(plan), plan.by_annotator
    problems, read = Problems(), dict[str, AnswerFile]()
    for path in files:
        issues = GroupedIssues()
        try:
            file = read_object(path, AnswerFile, issues)
        except OSError as error:
            problems.add(path.name, f"Expected a file of answers, but it cannot be read: {error.strerror or error}.")
            continue
        if file is None:
            problems.extend(issues.as_problems(f"{path.name}, "))
            continue
        rows = {row.place: row for row in own.get(file.annotator, [])}
        places = [answer.place for answer in file.answers]
        if file.plan != digest:
            problems.add(path.name, f"Expected answers to the plan {digest}, but got some to {file.plan}.")
        elif not rows:
            problems.add(path.name, f"Expected an annotator of the plan, but got {file.annotator}.")
        elif file.annotator in read:
            problems.add(path.name, f"Expected one file of {file.annotator}, but got another.")
        elif file.mode != plan.mode:
            problems.add(path.name, f"Expected answers of the plan's mode, {plan.mode}, but got {file.mode}.")
        elif len(set(places)) < len(places) or not rows.keys() >= set(places):
            problems.add(path.name, f"Expected one answer at most to each item of {file.annotator}, but got others.")
        else:
            read[file.annotator] = file
            for answer in file.answers:
                for fault in answer_faults(answer, rows[answer.place], inquiry):
                    problems.add(f"{path.name}, place {answer.place}", fault)
    problems.raise_if_any("The answers cannot be used")
    if not read:
        raise InputError("Expected files of answers, but got none.")
    return list(read.values())


def planned_answers(plan: Plan, files: Sequence[AnswerFile]) -> Iterator[tuple[PlannedItem, GivenAnswer]]:
    """Yield each planned item with the answer given to it, by annotator, in the order in which they were asked."""
    own = plan.by_annotator
    for file in sorted(files, key=lambda file: file.annotator):
        rows = {row.place: row for row in own[file.annotator]}
        for answer in sorted(file.answers, key=lambda answer: answer.place):
            if answer.given and not rows[answer.place].attention:
                yield rows[answer.place], answer


def collect_answers(plan: Plan, files: Sequence[AnswerFile], attention_errors: int = 0) -> Collected:
    """The choices that were made."""
    own = plan.by_annotator
    answered = {file.annotator: sum(bool(answer.given) for answer in file.answers) for file in files}
    inattentive: dict[str, int] = {}
    for file in sorted(files, key=lambda file: file.annotator):
        given = {answer.place: answer.choice for answer in file.answers}
        checks = [row for row in own[file.annotator] if row.attention]
        failed = sum(given.get(row.place) != row.attention for row in checks)
        if failed > attention_errors:
            inattentive[file.annotator] = failed
    attentive = [file for file in files if file.annotator not in inattentive]
    responses = [
        dict(zip(COLUMNS, (row.item, row.version, row.annotator, given.choice or ""), strict=True))
        for row, given in planned_answers(plan, attentive)
    ]
    return Collected(
        responses=tuple(responses),
        planned={file.annotator: len(own[file.annotator]) for file in files},
        answered=answered,
        inattentive=inattentive,
        silent=tuple(name for name in own if name not in answered),
    )


def collect_ratings(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, str]]:
    """A row for each item that somebody rated: which, who, and a column for each scale."""
    return [
        {
            **dict(zip(RATED_COLUMNS, (row.item, row.version, row.item_id, row.annotator), strict=True)),
            **(given.ratings or {}),
        }
        for row, given in planned_answers(plan, files)
    ]


def collect_edits(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, Any]]:
    """A row for each item whose texts were put right: which, by whom, and the texts as they were left."""
    return [
        {
            "item_id": row.item_id,
            "version": row.version,
            "annotator": row.annotator,
            **given.model_dump(exclude={"place", "seconds", "plays"}, exclude_none=True),
        }
        for row, given in planned_answers(plan, files)
    ]
