"""Inquiries to people: the items they see, in which form, the answers they may give, and the effect of review flags.

Source: CausalVQA (arXiv 2506.09943), 2.2.7: two reviewers look at each version of a question; flags a to c remove
it, and d to f have it repaired where at most one of its reviewers raised any of them. The effect of more flags, and
the words, are ours.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple, get_args

FrameShare = tuple[float, float, float, float]
"""A box as shares of the frame's width and height: left, top, right, bottom."""


@dataclass(frozen=True)
class TimedDescription:
    """Description of an action or event in a clip, with its time.

    Attributes:
        name: Who or what.
        start: First second, in whole seconds from the clip's beginning.
        end: Last second, inclusive.
        text: What happens.
        boxes: Second to where it is: left, top, right and bottom as shares of the frame's width and height, 0-1. Empty
            where that is not known.
    """

    name: str
    start: int
    end: int
    text: str
    boxes: Mapping[int, FrameShare] = field(default_factory=dict)


class Decision(str, Enum):
    """Decision about a reviewed question, the most severe first."""

    remove = "remove"
    repair = "repair"
    keep = "keep"


@dataclass(frozen=True)
class Flag:
    decision: Decision
    text: str
    kind: bool = False


REVIEWERS = 2
"""Of each version of a question."""
FLAGS = {
    "a": Flag(Decision.remove, "The clip begins or ends in the wrong place for what is asked."),
    "b": Flag(Decision.remove, "The video is not needed to answer."),
    "c": Flag(Decision.remove, "The answer is wrong."),
    "d": Flag(Decision.repair, "The question is of another type.", kind=True),
    "e": Flag(Decision.repair, "Question or options make no sense."),
    "f": Flag(Decision.repair, "Several options are right."),
}
"""Of CausalVQA's review."""
REMOVING = frozenset(letter for letter, flag in FLAGS.items() if flag.decision is Decision.remove)
REPAIRING = frozenset(FLAGS) - REMOVING


def decide(reviews: Sequence[Collection[str]]) -> Decision:
    """Return the decision that follows from the reviews of one version of a question."""
    if any(REMOVING.intersection(flags) for flags in reviews):
        return Decision.remove
    repairing = sum(bool(REPAIRING.intersection(flags)) for flags in reviews)
    if repairing > 1:
        return Decision.remove
    return Decision.repair if repairing else Decision.keep


ANSWER, LAST_FRAME, REVIEW = "answer", "last-frame", "review"
"""Modes that every benchmark whose rows have options is asked in."""
RESPONSES = 15
"""Responses to a version: CausalVQA."""
ATTENTION = 2
"""Items that check attention, an annotator."""
RESPONSE = "response"
"""Column of a row that holds a model's answer, where people are asked about a run's answers."""


InquiryForm = Literal["choice", "ratings", "review", "descriptions", "revision"]


class OfferedChoice(NamedTuple):
    """Something that can be chosen.

    Attributes:
        value: As it is written down.
        letter: The key to press; empty for its number among the choices.
        text: In words, as people read it.
    """

    value: str
    letter: str
    text: str


@dataclass(frozen=True)
class Scale:
    """Something that people rate.

    Attributes:
        name: Its column in the table of ratings.
        question: What is asked.
        choices: What is written down to what it stands for. Where all are whole numbers, ratings are averaged; else the
            score is the percentage of the first choice.
    """

    name: str
    question: str
    choices: Mapping[str, str]

    @property
    def is_numeric(self) -> bool:
        """Whether all choices are whole numbers, so that ratings are averaged."""
        return all(value.lstrip("-").isdigit() for value in self.choices)


@dataclass(frozen=True)
class AskedItem:
    """Item as it is shown to people.

    Attributes:
        item: What nobody sees twice: the group of a question's versions.
        item_id: Names it, once among the items of an inquiry.
        question: What is asked.
        ways: Version to the clips that are shown, in their order; of several ways each annotator sees one.
        choices: What can be chosen; nothing where the answer is written.
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

    @staticmethod
    def keys(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
        """The `item` and the version of each row of a prepared table.

        An item is a group; without a column ``version``, members of a group are versions by their ``item_id``, so that
        nobody counts for two of them.
        """
        members = Counter(row["group_id"] for row in rows)

        def version(row: Mapping[str, Any]) -> str:
            named = "version" if "version" in row else "item_id"
            return str(row.get(named, "")) if named == "version" or members[row["group_id"]] > 1 else ""

        return [(str(row["group_id"]), version(row)) for row in rows]

    @property
    def clips(self) -> tuple[str, ...]:
        """Its clips, in the order of the first way."""
        return next(iter(self.ways.values()))


@dataclass(frozen=True)
class Inquiry:
    """One way of asking people about a benchmark.

    Attributes:
        form: What they do: ``choice`` makes one choice; ``ratings`` chooses on each of several scales; ``review`` makes
            a choice, then sees the key and says what is wrong; ``descriptions`` puts timed descriptions right;
            ``revision`` puts a question, its options and its evidence right, or discards it.
        items: What is shown, from rows of the prepared table; None shows every version of every question with its
            options, as a model is asked.
        responses: How many people answer each item, unless another number is asked for.
        attention: Items of an annotator that check attention, unless others are asked for; choices alone can.
        last_frame: Whether the last frame is shown in place of the clip.
        scales: Of ratings.
        kinds: Types of which a reviewer may name another; of a review.
        retimed: Whether a reviewer may give the clip another start and end.
        positive: The choice that holds what `AskedItem.key` claims to hold, such as that a link is there; with it
            precision, recall, F1 and accuracy of the keys are taken against people's choices.
        of_answers: Whether it is about the answers of a run, which rows then have in their column ``response``.
        paper: Score to the paper's, as it is printed.

    Raises:
        ValueError: there is no such form, ratings have no scales or another form has some, or attention is checked
            where nothing is chosen.
    """

    form: InquiryForm
    items: Callable[[Sequence[Mapping[str, Any]]], Sequence[AskedItem]] | None = None
    responses: int = 1
    attention: int = 0
    last_frame: bool = False
    scales: tuple[Scale, ...] = ()
    kinds: tuple[str, ...] = ()
    retimed: bool = False
    positive: str = ""
    of_answers: bool = False
    paper: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.form not in get_args(InquiryForm):
            raise ValueError(f"Expected a form, one of {', '.join(get_args(InquiryForm))}, but got {self.form}.")
        if (self.form == "ratings") != bool(self.scales):
            raise ValueError(f"Expected scales of ratings, and of nothing else, but the form is {self.form}.")
        if self.attention and self.form != "choice":
            raise ValueError(f"Expected attention to be checked by a choice, but the form is {self.form}.")

    @property
    def flags(self) -> dict[str, Flag]:
        """Of a review, by their letters: CausalVQA's, that of another type only where there are types."""
        flags = FLAGS if self.form == "review" else {}
        return {letter: flag for letter, flag in flags.items() if self.kinds or not flag.kind}

    def digest(self, item: AskedItem) -> str:
        """Return 16 hexadecimal digits that change with anything people are asked about an item."""
        flags = {letter: asdict(flag) for letter, flag in self.flags.items()}
        scales = [asdict(scale) for scale in self.scales]
        asked = [self.form, self.last_frame, scales, flags, self.kinds, self.retimed, asdict(item)]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("ascii")).hexdigest()[:16]


def with_usual(declared: Mapping[str, Inquiry]) -> dict[str, Inquiry]:
    """Mode to how people are asked in it: by a question's options, unless a benchmark declares its own answers."""
    if ANSWER in declared:
        return dict(declared)
    return {
        ANSWER: Inquiry("choice", None, RESPONSES, ATTENTION),
        LAST_FRAME: Inquiry("choice", None, RESPONSES, ATTENTION, last_frame=True),
        REVIEW: Inquiry("review", None, REVIEWERS),
        **declared,
    }
