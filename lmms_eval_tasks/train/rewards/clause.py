"""A clause of a sentence, and how it is joined to the one before: as its effect, its cause, its condition."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from lmms_eval_tasks.train.rewards.mentions import ActionMention
from lmms_eval_tasks.train.rewards.words import DENIAL, MODAL, MUST, STILL


class Joint(Enum):
    """How a clause is joined to what comes before."""

    START = "start"
    ASIDE = "aside"
    COMMA = "comma"
    TIME = "when"
    AND = "and"
    FORWARD = "effect"
    BACKWARD = "cause"
    NO_EFFECT = "no effect on"
    NO_RELATION = "no relation to"
    RELATION = "linked to"
    NOTHING = "changes nothing"
    CONDITION = "if"
    REGARDLESS = "whether or not"
    THEN = "then"
    CONTRAST = "and not"


PLAIN = (Joint.START, Joint.ASIDE, Joint.COMMA, Joint.TIME, Joint.AND)
"""Joints that say nothing of cause and effect."""
LINKING = frozenset({Joint.FORWARD, Joint.BACKWARD, Joint.NO_EFFECT, Joint.NO_RELATION})
"""Joints that state or deny a link of two actions."""


@dataclass
class Clause:
    """Some words of a sentence without a cue among them.

    Attributes:
        joints: All that stands between it and the clause before.
        words: Its words.
        negated: Whether the cue before it is denied ("does not lead to").
        mention: What it speaks of.
        infers: Whether the cue before it may also open a conclusion ("so").
        names_cause: Whether the cue before it is a noun: "the cause of".
        cue: The first word of the last cue before it.
        denied_before: Whether the clause before it is nothing but its denial.
    """

    joints: list[Joint]
    words: list[str] = field(default_factory=list)
    negated: bool = False
    mention: ActionMention = field(default_factory=ActionMention)
    denied_before: bool = False
    infers: bool = False
    names_cause: bool = False
    cue: str = ""

    @property
    def is_arrow(self) -> bool:
        """Whether the cue before it is an arrow."""
        return self.cue == "→"

    @property
    def joint(self) -> Joint:
        """The joint that says most."""
        telling = [joint for joint in self.joints if joint not in PLAIN]
        return telling[-1] if telling else self.joints[-1]

    @property
    def places(self) -> frozenset[int]:
        """The actions that it names."""
        return self.mention.places

    @property
    def denies(self) -> bool:
        """Whether it says that something is not so."""
        return self.denied_before or not DENIAL.isdisjoint(self.words)

    @property
    def lacks(self) -> bool:
        """Whether its own words deny what they name; "neither … nor" denies what stands before both."""
        return self.words[:1] != ["nor"] and not DENIAL.isdisjoint(self.words)

    @property
    def keeps(self) -> bool:
        """Whether it says that something still is so."""
        return not STILL.isdisjoint(self.words)

    @property
    def must(self) -> bool:
        """Whether it says what has to be."""
        return any(
            word == "must" or (word in MUST and after == "to")
            for word, after in zip(self.words, [*self.words[1:], ""], strict=False)
        )

    @property
    def supposes(self) -> bool:
        """Whether it says what would be."""
        return not MODAL.isdisjoint(self.words)

    @property
    def must_not(self) -> bool:
        """Whether it says what cannot be."""
        return self.supposes and self.lacks
