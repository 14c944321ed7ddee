"""One question about a scene's clip and its twin's, with opposite answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.worlds.questions import wording
from lmms_eval_tasks.worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_tasks.worlds.questions.balance import sample, worded
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts, Twin

MOST_PAIRS = 2
"""Pairs of a scene."""
WORDINGS = (
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
    (text,) = worded(rng, WORDINGS)
    here, there = map(wording.sentence, texts)
    return ClipPair(facts, twin, kind, text, here, there, about)
