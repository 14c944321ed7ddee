"""Questions on perception: events that happen, their order, and the body to which each happens."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.questions.askable import SHOWN, VIEWED, Askable
from lmms_eval_worlds.questions.balance import pick, sample, worded
from lmms_eval_worlds.questions.question import Sketch, body_options, event_options
from lmms_eval_worlds.scenes.scene import Event, EventKey, EventKind

GAP = 0.4
"""Seconds that must lie between two events whose order is asked."""
TRIES = 12
"""Sketches of each kind that are drawn, of which the set takes the best."""
MOST_OPTIONS = 4

WORDINGS = {
    "what": (
        "Which of these happens in the clip?",
        "Which one of these events occurs?",
        "Only one of these takes place. Which is it?",
        "What happens in this clip?",
    ),
    "what not": (
        "Which of these does not happen in the clip?",
        "All but one of these happen. Which one does not?",
        "Only one of these does not take place. Which is it?",
        "What does not happen in this clip?",
    ),
    "first": (
        "Which of these happens first?",
        "What comes before the others?",
        "Of these events, which is the earliest?",
        "All of these happen. Which one is first?",
    ),
    "last": (
        "Which of these happens last?",
        "What comes after the others?",
        "Of these events, which is the latest?",
        "All of these happen. Which one is last?",
    ),
}
WHO = {
    "hits": (
        "Which of these hits {other}, or is hit by it?",
        "With which of these does {other} collide?",
        "{Other} and one of these hit each other. Which one?",
    ),
    "starts": (
        "Which of these rests at first and moves later?",
        "Which one is set in motion during the clip?",
        "One of these starts to move. Which one?",
    ),
    "stops": (
        "Which of these moves at some time and rests at the end?",
        "Which one comes to rest during the clip?",
        "One of these stops for good. Which one?",
    ),
    "falls": (
        "Which of these falls?",
        "Which one tips over or drops down?",
        "One of these falls in the clip. Which one?",
    ),
    "enters": (
        "Which of these ends up in {other}?",
        "Which one is in {other} at the end, and was not there before?",
        "One of these comes to lie in {other}. Which one?",
    ),
    "leaves view": (
        "Which of these goes out of sight?",
        "Which one is wholly hidden at some time, or leaves the picture?",
        "One of these cannot be seen any more at some time. Which one?",
    ),
    "comes into view": (
        "Which of these comes into sight during the clip?",
        "Which one is out of sight at some time, and is seen later?",
        "One of these appears after it could not be seen. Which one?",
    ),
}


def perception_slots(scene: Askable, rng: np.random.Generator) -> list[list[Sketch]]:
    """Sketches of a scene's questions: of each list, one is to be asked."""
    return [_drawn(draw(scene, rng) for _ in range(TRIES)) for draw in (_what, _what_not, _order, _who)]


def control_slot(scene: Askable, wanted: Collection[EventKey], rng: np.random.Generator) -> list[Sketch]:
    """Sketches of a question that is about one of some events, whether they happen or not."""
    keys = sorted(wanted)
    drawn = []
    for _ in range(3 * TRIES):
        key = pick(rng, keys)
        makers = (_what, _who, _order) if scene.says(key) else (_what_not,)
        drawn.append(pick(rng, makers)(scene, rng, key))
        if not scene.says(key):
            drawn.append(_what(scene, rng, wrong=key))
    return _drawn(drawn)


def _drawn(sketches: Iterable[Sketch | None]) -> list[Sketch]:
    return [sketch for sketch in sketches if sketch is not None]


def _what(
    scene: Askable, rng: np.random.Generator, key: EventKey | None = None, wrong: EventKey | None = None
) -> Sketch | None:
    """One event that happens among some that do not."""
    yes, no = [event.key for event in scene.happened(SHOWN)], scene.absent(SHOWN)
    if key is None and yes:
        key = pick(rng, yes)
    if key not in yes or (wrong is not None and wrong not in no):
        return None
    pool = [one for one in no if one != wrong]
    fixed = () if wrong is None else (wrong,)
    if len(pool) + len(fixed) < MOST_OPTIONS - 1:
        return None
    return _of_events(scene, rng, "what", key, (*fixed, *_near(rng, pool, key, MOST_OPTIONS - 1 - len(fixed))))


def _what_not(scene: Askable, rng: np.random.Generator, key: EventKey | None = None) -> Sketch | None:
    """One event that does not happen among some that do."""
    yes, no = [event.key for event in scene.happened(SHOWN)], scene.absent(SHOWN)
    if key is None and no:
        key = pick(rng, no)
    if key not in no or len(yes) < 2:
        return None
    return _of_events(scene, rng, "what not", key, _near(rng, yes, key, min(len(yes), MOST_OPTIONS - 1)))


def _order(scene: Askable, rng: np.random.Generator, key: EventKey | None = None) -> Sketch | None:
    """The first or the last of events that all happen, each some time from the others."""
    events = scene.happened(SHOWN)
    kind = pick(rng, ("first", "last"))
    start = [event for event in events if event.key == key] if key else []
    if kind == "last" and any(map(scene.happens_again, start)):
        return None
    chosen: list[Event] = list(start)
    most = int(rng.integers(2, MOST_OPTIONS + 1))
    only = pick(rng, SHOWN) if rng.random() < 0.5 else None
    for event in sample(rng, events, len(events)):
        if only is not None and event.kind != only and not key:
            continue
        if kind == "last" and scene.happens_again(event):
            continue
        if len(chosen) < most and all(abs(event.time - other.time) >= GAP for other in chosen):
            chosen.append(event)
    if len(chosen) < 2:
        return None
    chosen.sort(key=lambda event: event.time, reverse=kind == "last")
    return _of_events(scene, rng, kind, chosen[0].key, tuple(event.key for event in chosen[1:]))


def _who(scene: Askable, rng: np.random.Generator, key: EventKey | None = None) -> Sketch | None:
    """The body to which something happens among some to which it does not."""
    events = [event.key for event in scene.happened(SHOWN)]
    if key is None and events:
        # By kind first: hits are many, and entries few.
        kind = pick(rng, sorted({event.kind for event in events}))
        key = pick(rng, [event for event in events if event.kind == kind])
    if key not in events:
        return None
    body, other = sample(rng, (key.body, key.other), 2) if key.kind == "hits" else (key.body, key.other)
    others = [one for one in scene.actors if one not in (body, other) and _is_sure_not(scene, key.kind, one, other)]
    if len(others) < 2:
        return None
    wrong = sample(rng, others, min(len(others), MOST_OPTIONS - 1))
    named = wording.name(other)
    return Sketch(
        scene.facts,
        "perception",
        f"who {key.kind}",
        worded(rng, WHO[key.kind], other=named, Other=wording.sentence(named, "")),
        body_options(scene.facts, (body, *wrong)),
        (key,),
    )


def _of_events(
    scene: Askable, rng: np.random.Generator, kind: str, right: EventKey, wrong: tuple[EventKey, ...]
) -> Sketch:
    about = (right, *wrong)
    options = event_options(scene.facts, about)
    return Sketch(scene.facts, "perception", kind, worded(rng, WORDINGS[kind]), options, about)


def _near(rng: np.random.Generator, pool: list[EventKey], key: EventKey, number: int) -> tuple[EventKey, ...]:
    """So many of a pool; half of the time those of the same kind first, lest the kind say which is right."""
    drawn = sample(rng, pool, len(pool))
    if rng.random() < 0.5:
        drawn = tuple(sorted(drawn, key=lambda one: one.kind != key.kind))
    return drawn[:number]


def _is_sure_not(scene: Askable, kind: EventKind, body: str, other: str) -> bool:
    key = EventKey(kind, *sorted((body, other))) if kind == "hits" else EventKey(kind, body, other)
    return key in scene.absent(VIEWED) if kind in VIEWED else scene.says(key) is False
