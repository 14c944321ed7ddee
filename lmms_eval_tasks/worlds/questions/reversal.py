"""Questions on a clip's direction of time, where much energy is lost and where hardly any is."""

from __future__ import annotations

from lmms_eval_tasks.worlds.scenes.scene import Facts

STRONG, NONE = 0.2, 0.03
"""The share of energy from which the arrow of time is strong, and below which there is none."""
OPTIONS = ("It runs forward.", "It runs backward.")
WORDINGS = (
    "Does this clip run forward, as it happened, or backward?",
    "In which direction of time is this clip shown?",
    "Is this clip shown as it happened, or from its end to its beginning?",
    "Forward or backward: how is this clip played?",
)


def arrow_of(facts: Facts) -> str:
    """`strong` or `none`; empty where it is neither, and nothing is asked."""
    if facts.lost_energy >= STRONG:
        return "strong"
    return "none" if facts.lost_energy < NONE else ""
