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
    LEANING = 2
    """A link between the actions: "B requires A"."""
    STATED = 3
    """The outcome, affirmed or denied: "it would still happen"."""
    LEAD = 4
    """A yes or no that opens a sentence or ends its conclusion."""
    LABEL = 5
    """A yes or no behind a label, or alone in its line."""


@dataclass(frozen=True)
class Assertion:
    """One thing that a sentence says.

    Attributes:
        pole: "yes", "no" or "cannot tell".
        force: How much it weighs.
        place: Number of its sentence.
        revises: Whether it takes back what came before.
        concludes: Whether it is a conclusion.
        opens: Whether it is a yes or no at the beginning of its sentence.
    """

    pole: str
    force: Force
    place: int = 0
    revises: bool = False
    concludes: bool = False
    opens: bool = False
