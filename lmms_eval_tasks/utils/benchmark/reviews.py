"""Reviewers' flags, and what they lead to.

Source: CausalVQA (arXiv 2506.09943), 2.2.7: two reviewers look at each version of a question; flags a to c remove it,
and d to f have it repaired where at most one of its reviewers raised any of them. What more lead to, and the words, are
ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum


class Decision(str, Enum):
    """What becomes of a question that was reviewed, the hardest first."""

    remove = "remove"
    repair = "repair"
    keep = "keep"


@dataclass(frozen=True)
class Flag:
    """Something that a reviewer may find."""

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
    """What the reviews of one version of a question lead to."""
    if any(REMOVING.intersection(flags) for flags in reviews):
        return Decision.remove
    repairing = sum(bool(REPAIRING.intersection(flags)) for flags in reviews)
    if repairing > 1:
        return Decision.remove
    return Decision.repair if repairing else Decision.keep
