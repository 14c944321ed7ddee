"""What a page asks of an annotator, and the form of the file with the answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from lmms_eval_tasks.annotate.plan import Plan, as_csv
from lmms_eval_tasks.utils.core.json_rows import Row, WholeText


class AskingMode(str, Enum):
    """What is asked of each item."""

    answer = "answer"
    """The answer, from its clips."""
    last_frame = "last-frame"
    """The answer, from the last frame of its clip."""
    review = "review"
    """What is wrong with it, its key in sight."""
    edit = "edit"
    """Timed descriptions of its clip, to be put right."""


CLOCK = "^[0-9]{2,3}:[0-5][0-9]$"


class Decision(str, Enum):
    """What becomes of a question that was reviewed, the hardest first."""

    remove = "remove"
    repair = "repair"
    keep = "keep"


FLAGS = {
    "a": (Decision.remove, "The clip does not show what is asked about."),
    "b": (Decision.remove, "No option is right, or the key is wrong."),
    "c": (Decision.remove, "More than one option is right."),
    "d": (Decision.repair, "The question is unclear or has mistakes."),
    "e": (Decision.repair, "An option is unclear, has mistakes, or says the same as another."),
    "f": (Decision.repair, "Words of the question or of an option hint at the answer."),
}
"""A reviewer's flags: a to c remove a question, d to f have it repaired, as in CausalVQA's review. Our words."""


class EditedEntry(Row):
    """A timed description as it was left, times as ``MM:SS``."""

    name: WholeText
    start: Annotated[str, Field(pattern=CLOCK)]
    end: Annotated[str, Field(pattern=CLOCK)]
    text: WholeText


class GivenAnswer(Row):
    """What an annotator gave for one item.

    Attributes:
        place: Of the item in the plan.
        seconds: For which it was in sight until then.
        plays: How often its clips were played.
        choice: The answer.
        flags: Of a review; none where nothing is wrong.
        comment: Of a review.
        entries: Timed descriptions that were put right.
    """

    place: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    plays: Annotated[int, Field(ge=0)] = 0
    choice: WholeText | None = None
    flags: list[Literal["a", "b", "c", "d", "e", "f"]] | None = None
    comment: WholeText = ""
    entries: list[EditedEntry] | None = None


class AnswerFile(Row):
    """The file that a page saves: of which plan, who answered, what was asked, and the answers so far."""

    plan: str
    annotator: WholeText
    mode: Annotated[AskingMode, Field(strict=False)]
    answers: list[GivenAnswer]


@dataclass(frozen=True)
class Collected:
    """The answers of a plan.

    Attributes:
        responses: Rows for `humans`: item, version, annotator, choice; without those of `inattentive`.
        planned: How many items each annotator whose file was read has, attention checks included.
        answered: How many of them are answered.
        inattentive: Annotators who made too many wrong choices where attention was checked, to how many.
        silent: Annotators of the plan of whom there is no file.
    """

    responses: tuple[dict[str, str], ...]
    planned: dict[str, int]
    answered: dict[str, int]
    inattentive: dict[str, int]
    silent: tuple[str, ...]


def plan_digest(plan: Plan) -> str:
    """What names a plan in pages and answer files: the first 16 characters of its SHA-256."""
    return hashlib.sha256(as_csv(plan).encode()).hexdigest()[:16]
