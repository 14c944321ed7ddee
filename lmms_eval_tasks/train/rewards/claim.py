"""One causal link that is stated or denied."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = -2
"""Stands for what is none of the clip's actions."""


@dataclass(frozen=True)
class Claim:
    """A link that is stated or denied.

    Attributes:
        cause: Place of the action, or `UNKNOWN`, or `mentions.ABSENT`.
        effect: The same.
        holds: False where the link is denied.
        strength: 1, or less for what is hedged or only said again.
        mutual: Whether what is denied is any link between the two.
        verdict: Whether it may only be a conclusion: it counts where it is right, and else not.
        revises: Whether it takes back what was claimed before.
    """

    cause: int
    effect: int
    holds: bool
    strength: float = 1.0
    mutual: bool = False
    verdict: bool = False
    revises: bool = False
