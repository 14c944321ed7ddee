"""One thing that a sentence of an answer says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

YES = "yes"
"""The verdict of an answer that says yes."""
NO = "no"
"""The verdict of an answer that says no."""
UNCLEAR = "cannot tell"
"""The verdict of an answer that says neither, or both."""
OPPOSITE = {YES: NO, NO: YES, UNCLEAR: UNCLEAR}


class Force(IntEnum):
    """How much a statement weighs."""

    HINT = 1
    """The outcome in plain words: "the ball would have rolled"."""
    LINK = 2
    """A link between the actions: "B requires A"."""
    STATED = 3
    """The outcome, affirmed or denied: "it would still happen"."""
    WORD = 4
    """A yes or no that opens a sentence or ends its conclusion."""
    LABEL = 5
    """A yes or no behind a label."""


@dataclass(frozen=True)
class Assertion:
    """One thing that a sentence says."""

    verdict: str
    force: Force
    place: int = 0
    final: bool = False
    whole: bool = False
