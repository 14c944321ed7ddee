"""What a benchmark asks of people: the items that they see, in what form, and what they may say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from lmms_eval_tasks.utils.benchmark.descriptions import TimedDescription
from lmms_eval_tasks.utils.benchmark.reviews import FLAGS, REVIEWERS, Flag

ANSWER, LAST_FRAME, REVIEW = "answer", "last-frame", "review"
"""Modes that every benchmark whose rows have options is asked in."""
RESPONSES = 15
"""Responses to a version: CausalVQA."""
ATTENTION = 2
"""Items that check attention, an annotator."""
RESPONSE = "response"
"""Column of a row that holds a model's answer, where people are asked about a run's answers."""


class InquiryForm(str, Enum):
    """What people do with an item."""

    choice = "choice"
    """They make one choice."""
    ratings = "ratings"
    """They choose on each of several scales."""
    review = "review"
    """They make their own choice, then see the key, and say what is wrong."""
    descriptions = "descriptions"
    """They put timed descriptions right."""
    revision = "revision"
    """They put a question, its options and its evidence right, or discard it."""


class OfferedChoice(NamedTuple):
    """Something that can be chosen: as it is written down, the letter to press (empty: its number), and in words."""

    value: str
    letter: str
    text: str


@dataclass(frozen=True)
class Scale:
    """Something that people rate.

    Attributes:
        name: Its column in the table of ratings.
        question: What is asked.
        choices: What is written down to what it stands for; numbers are averaged, of others the first is counted.
    """

    name: str
    question: str
    choices: Mapping[str, str]

    @property
    def is_numeric(self) -> bool:
        """Whether its choices are numbers."""
        return all(value.lstrip("-").isdigit() for value in self.choices)


@dataclass(frozen=True)
class AskedItem:
    """What people are shown of one item.

    Attributes:
        item: What nobody sees twice: the group of a question's versions.
        item_id: Names it, once among the items of an inquiry.
        question: What is asked.
        ways: Version to the clips that are shown, in their order; of several ways each annotator sees one.
        choices: What can be chosen.
        key: The choice that is held to be right; empty where that is not known or there is none.
        labels: What each clip is called; empty where one is shown.
        replays: How often the clips may be played again, one after the other; None plays them freely.
        before: A text that is read before the clips.
        text: A text to be judged.
        kind: The question's type, which a reviewer may correct.
        descriptions: What happens in the clip.
    """

    item: str
    item_id: str
    question: str
    ways: Mapping[str, tuple[str, ...]]
    choices: tuple[OfferedChoice, ...] = ()
    key: str = ""
    labels: tuple[str, ...] = ()
    replays: int | None = None
    before: str = ""
    text: str = ""
    kind: str = ""
    descriptions: tuple[TimedDescription, ...] = ()

    @property
    def clips(self) -> tuple[str, ...]:
        """Its clips, in the order of the first way."""
        return next(iter(self.ways.values()))


@dataclass(frozen=True)
class Inquiry:
    """One way of asking people about a benchmark.

    Attributes:
        form: What they do.
        items: What is shown, from rows of the prepared table; None shows every version of every question with its
            options, as a model is asked.
        responses: To each item, unless others are asked for.
        attention: Items of an annotator that check attention, unless others are asked for; choices alone can.
        last_frame: Whether the last frame is shown in place of the clip.
        scales: Of ratings.
        flags: Of a review, by their letters.
        kinds: Types of which a reviewer may name another; of a review.
        retimed: Whether a reviewer may give the clip another start and end.
        positive: The choice that holds what `AskedItem.key` claims to hold, such as that a link is there; with it
            precision, recall, F1 and accuracy of the keys are taken against people's choices.
        of_answers: Whether it is about the answers of a run, which rows then have as `RESPONSE`.
        paper: Score to the paper's, as it is printed.
    """

    form: InquiryForm
    items: Callable[[Sequence[Mapping[str, Any]]], Sequence[AskedItem]] | None = None
    responses: int = 1
    attention: int = 0
    last_frame: bool = False
    scales: tuple[Scale, ...] = ()
    flags: Mapping[str, Flag] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    retimed: bool = False
    positive: str = ""
    of_answers: bool = False
    paper: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no page could ask.

        Raises:
            ValueError: ratings have no scales or a review no flags, or attention is checked where nothing is chosen.
        """
        if (self.form is InquiryForm.ratings) != bool(self.scales) or (self.form is InquiryForm.review) != bool(
            self.flags
        ):
            raise ValueError(f"Expected scales of ratings and flags of a review, but the form is {self.form.value}.")
        if self.attention and self.form is not InquiryForm.choice:
            raise ValueError(f"Expected attention to be checked by a choice, but the form is {self.form.value}.")

    def digest(self, item: AskedItem) -> str:
        """What changes with anything that people are asked of an item: 16 hexadecimal digits."""
        flags = {letter: asdict(flag) for letter, flag in self.flags.items()}
        scales = [asdict(scale) for scale in self.scales]
        asked = [self.form.value, self.last_frame, scales, flags, self.kinds, self.retimed, asdict(item)]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("ascii")).hexdigest()[:16]


def with_usual(declared: Mapping[str, Inquiry]) -> dict[str, Inquiry]:
    """Mode to how people are asked in it: by a question's options, unless a benchmark declares its own answers."""
    if ANSWER in declared:
        return dict(declared)
    flags = {letter: flag for letter, flag in FLAGS.items() if not flag.kind}
    return {
        ANSWER: Inquiry(InquiryForm.choice, None, RESPONSES, ATTENTION),
        LAST_FRAME: Inquiry(InquiryForm.choice, None, RESPONSES, ATTENTION, last_frame=True),
        REVIEW: Inquiry(InquiryForm.review, None, REVIEWERS, flags=flags),
        **declared,
    }
