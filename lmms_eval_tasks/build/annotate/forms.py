"""The form of the file with an annotator's answers, and what an answer may hold in each form of asking."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.build.annotate.plan import SEPARATOR, Plan, PlannedItem, as_csv
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText
from lmms_eval_tasks.utils.core.text import quote
from lmms_eval_tasks.utils.people.inquiries import Inquiry, InquiryForm

CLOCK = "^[0-9]{2,3}:[0-5][0-9]$"
Second = Annotated[float, Field(allow_inf_nan=False)]


class EditedEntry(RowForm):
    """A timed description as it was left, times as ``MM:SS``."""

    name: WholeText
    start: Annotated[str, Field(pattern=CLOCK)]
    end: Annotated[str, Field(pattern=CLOCK)]
    text: WholeText


class GivenAnswer(RowForm):
    """Answer of an annotator to one item."""

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
        """The fields that hold something of an answer."""
        return set(self.model_dump(exclude={"place", "seconds", "plays"}, exclude_none=True))


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
"""What people do to the fields that an answer then has, and those that it may have."""


class AnswerFile(RowForm):
    """The file that a page saves: of which plan, who answered, what was asked, and the answers so far."""

    plan: str
    annotator: WholeText
    mode: WholeText
    consent: str = ""
    answers: list[GivenAnswer]


@dataclass(frozen=True)
class Collected:
    """The answers of a plan."""

    responses: tuple[dict[str, str], ...]
    planned: dict[str, int]
    answered: dict[str, int]
    inattentive: dict[str, int]
    silent: tuple[str, ...]


def plan_digest(plan: Plan) -> str:
    """Return the digest that identifies a plan and all that it asks in pages and answer files: 16 characters of its
    SHA-256."""
    return hashlib.sha256(as_csv(plan).encode()).hexdigest()[:16]


def answer_faults(given: GivenAnswer, row: PlannedItem, inquiry: Inquiry) -> Iterator[str]:
    """Yield the parts of an answer that do not fit the question asked; nothing if the item was left unanswered."""
    if not given.given:
        return
    needed, possible = FIELDS[inquiry.form]
    if other := sorted(given.given - needed - possible):
        yield f"Expected {', '.join(sorted(needed))} in the mode {row.mode}, but got {', '.join(other)}."
        return
    if missing := sorted(needed - given.given):
        yield f"Expected {', '.join(missing)} in the mode {row.mode}, but got none."
        return
    choices = row.choices.split(SEPARATOR) if row.choices else []
    if choices and given.choice is not None and given.choice not in choices:
        yield f"Expected a choice out of {', '.join(choices)}, but got {quote(given.choice)}."
    if given.options is not None and len(given.options) != len(choices):
        yield f"Expected {len(choices)} options, but got {len(given.options)}."
    if given.ratings is not None:
        scales = {scale.name: tuple(scale.choices) for scale in inquiry.scales}
        if set(given.ratings) != set(scales):
            yield f"Expected ratings of {', '.join(scales)}, but got {', '.join(sorted(given.ratings)) or 'none'}."
        for name, value in given.ratings.items():
            if name in scales and value not in scales[name]:
                yield f"Expected {name} to be one of {', '.join(scales[name])}, but got {quote(value)}."
    yield from _review_faults(given, inquiry)


def _review_faults(given: GivenAnswer, inquiry: Inquiry) -> Iterator[str]:
    flags = given.flags or []
    if unknown := sorted(set(flags) - set(inquiry.flags)):
        yield f"Expected flags out of {', '.join(inquiry.flags)}, but got {quote(', '.join(unknown))}."
    asks_kind = any(flag in inquiry.flags and inquiry.flags[flag].kind for flag in flags)
    if asks_kind != (given.kind is not None) or (given.kind is not None and given.kind not in inquiry.kinds):
        kinds = f"one of {', '.join(inquiry.kinds)}" if asks_kind else "none, as no flag is of the type"
        yield f"Expected kind to be {kinds}, but got {quote(given.kind or 'none')}."
    if not inquiry.retimed and not (given.start is None and given.end is None):
        yield "Expected no start and end, which are not asked for, but got some."
    if given.start is not None and given.end is not None and given.start >= given.end:
        yield f"Expected start before end, but got {given.start:g} and {given.end:g}."
