"""Questions on the possibility of a clip: of a scene's own clip, and of one that breaks a principle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.questions.balance import sample, worded
from lmms_eval_tasks.worlds.scenes.scene import Facts, Violation

MOST_PAIRS = 2
"""Pairs of a scene, each about another principle."""
OPTIONS = ("Yes.", "No.")
"""In this order, as IntPhys 2 has them: possible, impossible."""
WORDINGS = (
    "Is what this clip shows physically possible?",
    "Could the events of this clip happen in the real world?",
    "Does everything in this clip obey the laws of physics?",
    "Could objects really behave as they do in this clip?",
)


def broken_principles(
    facts: Facts, rng: np.random.Generator, seldom: Sequence[str] = ()
) -> list[tuple[Violation, tuple[str, int]]]:
    """Violations of a scene, each of another principle, with a question in another wording."""
    actors = facts.scene.actors
    drawn: dict[str, Violation] = {}
    for one in sample(rng, facts.violations, len(facts.violations)):
        if one.body in actors:
            drawn.setdefault(one.principle, one)
    order = {principle: place for place, principle in enumerate(seldom)}
    chosen = sorted(drawn.values(), key=lambda one: order.get(one.principle, len(order)))[:MOST_PAIRS]
    return list(zip(chosen, worded(rng, WORDINGS, len(chosen)), strict=True))
