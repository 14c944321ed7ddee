"""Questions whose answer turns with the clip: minimal pairs of twins, broken principles, and the direction of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_worlds.questions.balance import Deck, sample, worded
from lmms_eval_worlds.questions.question import QuestionGroup, TaskName
from lmms_eval_worlds.scenes.scene import EventKey, Facts, Twin, Violation

MOST_PAIRS = 2
"""Pairs of a scene; of broken principles each about another one."""
PAIR_WORDINGS = (
    "Which of these is true of the clip?",
    "Only one of these is true. Which one?",
    "What happens in this clip?",
    "Watch to the end. Which of these describes it rightly?",
)


def minimal_pairs(scenes: Sequence[Askable], rng: np.random.Generator, deck: Deck) -> Iterator[QuestionGroup]:
    for scene in scenes:
        for pair in clip_pairs(scene, rng):
            twin, (place,) = scene.facts.twin, deck.deal(2)
            assert twin is not None
            options = deck.order(pair.here, [pair.there], place)
            fields: dict[str, Any] = {"same_start": twin.same_start, "about": [list(key) for key in pair.about]}
            if len(pair.about) == 1:
                fields["outcome"] = list(pair.about[0])
            right = {"": pair.here, "_twin": pair.there}
            yield _both_clips(rng, scene.facts, "minimal", pair.kind, pair.text, options, right, **fields)


class ClipPair(NamedTuple):
    """A question with an option that is right of the scene's clip, and one that is right of its twin's."""

    kind: str
    text: tuple[str, int]
    here: str
    there: str
    about: tuple[EventKey, ...]


def clip_pairs(scene: Askable, rng: np.random.Generator) -> list[ClipPair]:
    """The pairs of a scene, each about other events; none without a twin."""
    if scene.facts.twin is None:
        return []
    pairs: list[ClipPair] = []

    def add(kind: str, here: str, there: str, *about: EventKey) -> None:
        (text,) = worded(rng, PAIR_WORDINGS)
        pairs.append(ClipPair(kind, text, wording.sentence(here), wording.sentence(there), about))

    here, there = differing(scene, scene.facts.twin)
    for one, other in zip(sample(rng, here, len(here)), sample(rng, there, len(there)), strict=False):
        add("which", wording.happens(one), wording.happens(other), one, other)
    left = [*here, *there]
    for key in sample(rng, left, len(left)):
        if not any(key in pair.about for pair in pairs):
            texts = (wording.happens(key), wording.happens_not(key))
            add("whether", *(texts if key in here else texts[::-1]), key)
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


POSSIBLE = ("Yes.", "No.")
"""In this order, as IntPhys 2 has them: possible, impossible."""
POSSIBLE_WORDINGS = (
    "Is what this clip shows physically possible?",
    "Could the events of this clip happen in the real world?",
    "Does everything in this clip obey the laws of physics?",
    "Could objects really behave as they do in this clip?",
)


def broken_principles(scenes: Sequence[Askable], rng: np.random.Generator, deck: Deck) -> Iterator[QuestionGroup]:
    """Of each scene some violations, each of another principle and in another wording; those that are rare first."""
    times: Counter[str] = Counter()
    for scene in scenes:
        facts = scene.facts
        drawn: dict[str, Violation] = {}
        for one in sample(rng, facts.violations, len(facts.violations)):
            if one.body in facts.scene.actors:
                drawn.setdefault(one.principle, one)
        chosen = sorted(drawn, key=lambda principle: (times[principle], principle))[:MOST_PAIRS]
        times.update(chosen)
        for principle, text in zip(chosen, worded(rng, POSSIBLE_WORDINGS, len(chosen)), strict=True):
            right = dict(zip(("", f"_breaks_{principle}"), POSSIBLE, strict=True))
            yield _both_clips(rng, facts, "possible", principle, text, list(POSSIBLE), right, principle=principle)


STRONG, NONE = 0.2, 0.03
"""The share of energy from which the arrow of time is strong, and below which there is none."""
DIRECTIONS = ("It runs forward.", "It runs backward.")
DIRECTION_WORDINGS = (
    "Does this clip run forward, as it happened, or backward?",
    "In which direction of time is this clip shown?",
    "Is this clip shown as it happened, or from its end to its beginning?",
    "Forward or backward: how is this clip played?",
)


def reversals(scenes: Sequence[Askable], rng: np.random.Generator, deck: Deck) -> Iterator[QuestionGroup]:
    for scene in scenes:
        if arrow := arrow_of(scene.facts):
            number = int(rng.integers(len(DIRECTION_WORDINGS)))
            (place,) = deck.deal(2)
            text, options = (DIRECTION_WORDINGS[number], number), deck.order(DIRECTIONS[0], [DIRECTIONS[1]], place)
            right = dict(zip(("", "_backwards"), DIRECTIONS, strict=True))
            yield _both_clips(rng, scene.facts, "reversal", "direction", text, options, right, arrow=arrow)


def arrow_of(facts: Facts) -> str:
    """`strong` or `none`; empty where it is neither, and nothing is asked."""
    if facts.lost_energy >= STRONG:
        return "strong"
    return "none" if facts.lost_energy < NONE else ""


def _both_clips(
    rng: np.random.Generator,
    facts: Facts,
    task: TaskName,
    kind: str,
    text: tuple[str, int],
    options: list[str],
    right: dict[str, str],
    **fields: Any,
) -> QuestionGroup:
    """The same question about two clips, by what their names end in, in an order that is drawn."""
    shared = {"question": text[0], "wording": text[1], "options": options, **fields}
    members = [
        {**shared, "answer": ascii_uppercase[options.index(one)], "clip": f"{facts.scene.id}{ending}.mp4"}
        for ending, one in right.items()
    ]
    return QuestionGroup(facts, task, kind, sample(rng, members, 2))
