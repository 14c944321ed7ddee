"""Annotators' answer files, checked and joined with their plan: choices, ratings, reviews and edited texts."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from lmms_eval_tasks.construct.annotate.plan import SEPARATOR, Plan, PlannedItem, as_csv
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import visible_files
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_object
from lmms_eval_tasks.utils.core.text import quote
from lmms_eval_tasks.utils.people.inquiries import Decision, Inquiry, InquiryForm, decide

CLOCK = "^[0-9]{2,3}:[0-5][0-9]$"
Second = Annotated[float, Field(allow_inf_nan=False)]


class EditedEntry(RowForm):
    """A timed description as it was left, times as ``MM:SS``."""

    name: WholeText
    start: Annotated[str, Field(pattern=CLOCK)]
    end: Annotated[str, Field(pattern=CLOCK)]
    text: WholeText


TEXTS: dict[str, Any] = {"exclude": {"place", "seconds", "plays"}, "exclude_none": True}
"""Leaves what an answer holds but for when it was given."""


class GivenAnswer(RowForm):
    place: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    plays: Annotated[int, Field(ge=0)] = 0
    choice: WholeText | None = None
    ratings: dict[WholeText, WholeText] | None = None
    flags: list[WholeText] | None = None
    kind: WholeText | None = None
    start: Second | None = None
    end: Second | None = None
    comment: WholeText | None = None
    entries: list[EditedEntry] | None = None
    skipped: list[WholeText] | None = None
    question: WholeText | None = None
    options: list[WholeText] | None = None
    discarded: bool | None = None

    @property
    def given(self) -> set[str]:
        return set(self.model_dump(**TEXTS))


FIELDS: Mapping[InquiryForm, tuple[frozenset[str], frozenset[str]]] = {
    "choice": (frozenset({"choice"}), frozenset()),
    "ratings": (frozenset({"ratings"}), frozenset()),
    "review": (frozenset({"choice", "flags"}), frozenset({"kind", "start", "end", "comment"})),
    "descriptions": (frozenset({"entries"}), frozenset({"skipped"})),
    "revision": (
        frozenset({"question", "options", "entries", "discarded"}),
        frozenset({"skipped", "comment"}),
    ),
}
"""Kind of work on the page, and the fields that an answer of it has, and those that it may have."""


class AnswerFile(RowForm):
    plan: str
    annotator: WholeText
    mode: WholeText
    consent: str = ""
    answers: list[GivenAnswer]


class Collected(NamedTuple):
    responses: list[dict[str, str]]
    planned: dict[str, int]
    answered: dict[str, int]
    inattentive: dict[str, int]
    silent: list[str]


def plan_digest(plan: Plan) -> str:
    """Return the digest that identifies a plan and all that it asks in pages and answer files."""
    return hashlib.sha256(as_csv(plan).encode()).hexdigest()[:16]


def answer_faults(given: GivenAnswer, row: PlannedItem, inquiry: Inquiry) -> Iterator[str]:
    """Yield the parts of an answer that do not fit the question asked; nothing if the item was passed over."""
    if not given.given:
        return
    needed, possible = FIELDS[inquiry.form]
    if other := sorted(given.given - needed - possible):
        yield f"Expected {', '.join(sorted(needed))} in the mode {row.mode}, but got {', '.join(other)}."
    elif missing := sorted(needed - given.given):
        yield f"Expected {', '.join(missing)} in the mode {row.mode}, but got none."
    else:
        yield from _choice_faults(given, row.choices.split(SEPARATOR) if row.choices else [])
        yield from _rating_faults(given.ratings, inquiry)
        yield from _flag_faults(given, inquiry)
        yield from _time_faults(given, inquiry)


def _choice_faults(given: GivenAnswer, choices: Sequence[str]) -> Iterator[str]:
    if choices and given.choice is not None and given.choice not in choices:
        yield f"Expected a choice out of {', '.join(choices)}, but got {quote(given.choice)}."
    if given.options is not None and len(given.options) != len(choices):
        yield f"Expected {len(choices)} options, but got {len(given.options)}."


def _rating_faults(ratings: Mapping[str, str] | None, inquiry: Inquiry) -> Iterator[str]:
    if ratings is None:
        return
    scales = {scale.name: tuple(scale.choices) for scale in inquiry.scales}
    if set(ratings) != set(scales):
        yield f"Expected ratings of {', '.join(scales)}, but got {', '.join(sorted(ratings)) or 'none'}."
    for name, value in ratings.items():
        if name in scales and value not in scales[name]:
            yield f"Expected {name} to be one of {', '.join(scales[name])}, but got {quote(value)}."


def _flag_faults(given: GivenAnswer, inquiry: Inquiry) -> Iterator[str]:
    flags = given.flags or []
    if unknown := sorted(set(flags) - set(inquiry.flags)):
        yield f"Expected flags out of {', '.join(inquiry.flags)}, but got {quote(', '.join(unknown))}."
    asks_kind = any(flag in inquiry.flags and inquiry.flags[flag].kind for flag in flags)
    if asks_kind != (given.kind is not None) or (given.kind is not None and given.kind not in inquiry.kinds):
        kinds = f"one of {', '.join(inquiry.kinds)}" if asks_kind else "none, as no flag is of the type"
        yield f"Expected kind to be {kinds}, but got {quote(given.kind or 'none')}."


def _time_faults(given: GivenAnswer, inquiry: Inquiry) -> Iterator[str]:
    if not inquiry.retimed and not (given.start is None and given.end is None):
        yield "Expected no start and end, which are not asked for, but got some."
    if given.start is not None and given.end is not None and given.start >= given.end:
        yield f"Expected start before end, but got {given.start:g} and {given.end:g}."


COLUMNS = ("item", "version", "annotator", "choice")
RATED_COLUMNS = ("item", "version", "item_id", "annotator")
"""Before the scales."""


def read_answer_files(plan: Plan, paths: Sequence[Path], inquiry: Inquiry) -> list[AnswerFile]:
    files = [file for path in paths for file in (visible_files(path, "*.json") if path.is_dir() else [path])]
    digest, own = plan_digest(plan), plan.by_annotator
    problems, read = Problems(), dict[str, AnswerFile]()
    for path in files:
        issues = Problems()
        try:
            file = read_object(path, AnswerFile, issues)
        except OSError as error:
            problems.add(path.name, f"Expected a file of answers, but it cannot be read: {error.strerror or error}.")
            continue
        if file is None:
            problems.extend(issues, f"{path.name}, ")
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
    own = plan.by_annotator
    answered = {file.annotator: sum(bool(answer.given) for answer in file.answers) for file in files}
    inattentive: dict[str, int] = {}
    for file in sorted(files, key=lambda file: file.annotator):
        given = {answer.place: answer.choice for answer in file.answers}
        failed = sum(given.get(row.place) != row.attention for row in own[file.annotator] if row.attention)
        if failed > attention_errors:
            inattentive[file.annotator] = failed
    attentive = [file for file in files if file.annotator not in inattentive]
    responses = [
        dict(zip(COLUMNS, (row.item, row.version, row.annotator, given.choice or ""), strict=True))
        for row, given in planned_answers(plan, attentive)
    ]
    planned = {file.annotator: len(own[file.annotator]) for file in files}
    return Collected(responses, planned, answered, inattentive, [name for name in own if name not in answered])


def collect_ratings(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, str]]:
    rated = planned_answers(plan, files)
    return [{**{name: getattr(row, name) for name in RATED_COLUMNS}, **(given.ratings or {})} for row, given in rated]


def collect_edits(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, Any]]:
    return [
        {"item_id": row.item_id, "version": row.version, "annotator": row.annotator, **given.model_dump(**TEXTS)}
        for row, given in planned_answers(plan, files)
    ]


REVIEW_COLUMNS = (
    *("item", "version", "item_id", "reviewer", "choice", "flags"),
    *("type", "start", "end", "comment", "decision"),
)


def collect_reviews(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, str]]:
    reviews = []
    for row, given in planned_answers(plan, files):
        flags = "".join(sorted(set(given.flags or [])))
        start, end = ("" if second is None else f"{second:g}" for second in (given.start, given.end))
        decision = decide([flags])
        if decision is Decision.keep and (start or end):
            decision = Decision.repair
        values = (row.item, row.version, row.item_id, row.annotator, given.choice or "", flags)
        more = (given.kind or "", start, end, given.comment or "", decision.value)
        reviews.append(dict(zip(REVIEW_COLUMNS, (*values, *more), strict=True)))
    return reviews


def decide_items(reviews: Sequence[Mapping[str, str]]) -> dict[str, Decision]:
    flags: defaultdict[str, list[str]] = defaultdict(list)
    hardest: dict[str, Decision] = {}
    for review in reviews:
        flags[review["item_id"]].append(review["flags"])
        alone = Decision(review["decision"])
        hardest[review["item_id"]] = min(alone, hardest.get(review["item_id"], alone), key=list(Decision).index)
    return {
        item_id: min(decide(flags[item_id]), hardest[item_id], key=list(Decision).index) for item_id in sorted(flags)
    }
