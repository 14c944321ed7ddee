"""Questions whose answer turns with the clip: minimal pairs of twins, broken principles, and the direction of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.worlds.questions import wording
from lmms_eval_tasks.worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_tasks.worlds.questions.balance import sample, worded
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts, Twin, Violation

MOST_PAIRS = 2
"""Pairs of a scene; of broken principles each about another one."""
PAIR_WORDINGS = (
    "Which of these is true of the clip?",
    "Only one of these is true. Which one?",
    "What happens in this clip?",
    "Watch to the end. Which of these describes it rightly?",
)


@dataclass(frozen=True)
class ClipPair:
    """A question for two clips."""

    facts: Facts
    twin: Twin
    kind: str
    text: tuple[str, int]
    here: str
    there: str
    about: tuple[EventKey, ...]


def clip_pairs(scene: Askable, rng: np.random.Generator) -> list[ClipPair]:
    """The pairs of a scene, each about other events; none without a twin."""
    facts, twin = scene.facts, scene.facts.twin
    if twin is None:
        return []
    here, there = differing(scene, twin)
    pairs = []
    for one, other in zip(sample(rng, here, len(here)), sample(rng, there, len(there)), strict=False):
        texts = (wording.happens(one), wording.happens(other))
        pairs.append(_pair(facts, twin, rng, "which", texts, (one, other)))
    left = [*[(key, True) for key in here], *[(key, False) for key in there]]
    for key, in_scene in sample(rng, left, len(left)):
        if any(key in pair.about for pair in pairs):
            continue
        texts = (wording.happens(key), wording.happens_not(key))
        pairs.append(_pair(facts, twin, rng, "whether", texts if in_scene else texts[::-1], (key,)))
    return list(sample(rng, pairs, MOST_PAIRS))


def differing(scene: Askable, twin: Twin) -> tuple[list[EventKey], list[EventKey]]:
    """Return the events that happen only in the scene and those only in its twin, of those that may be asked about."""
    here: list[EventKey] = []
    there: list[EventKey] = []
    happens = {event.key for event in twin.events}
    for kind, body, other in sorted(twin.differs):
        key = EventKey(kind, body, other)  # type: ignore[arg-type]
        # Of the twin it is known only that it begins alike.
        seen = all(name in scene.seen_at_start for name in (body, other) if name in scene.facts.scene.actors)
        if kind not in PHYSICAL or not seen or not scene.may_be_named(key):
            continue
        says = scene.says(key)
        if says is not None and says != (key in happens):
            (here if says else there).append(key)
    return here, there


def _pair(
    facts: Facts, twin: Twin, rng: np.random.Generator, kind: str, texts: tuple[str, ...], about: tuple[EventKey, ...]
) -> ClipPair:
    (text,) = worded(rng, PAIR_WORDINGS)
    here, there = map(wording.sentence, texts)
    return ClipPair(facts, twin, kind, text, here, there, about)


POSSIBLE = ("Yes.", "No.")
"""In this order, as IntPhys 2 has them: possible, impossible."""
POSSIBLE_WORDINGS = (
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
    return list(zip(chosen, worded(rng, POSSIBLE_WORDINGS, len(chosen)), strict=True))


STRONG, NONE = 0.2, 0.03
"""The share of energy from which the arrow of time is strong, and below which there is none."""
DIRECTIONS = ("It runs forward.", "It runs backward.")
DIRECTION_WORDINGS = (
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
