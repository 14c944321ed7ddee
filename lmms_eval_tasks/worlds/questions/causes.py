"""Actual causes of events, as interventions show them, and the answers of a reader who takes every path of hits for a
cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts, World, last_to_hit

TOGETHER = 0.1
"""Seconds between the first touches of two bodies that act together."""


class Causes(NamedTuple):
    """Bodies without which an event would not have happened, and bodies that had no part in it; names are sorted, and
    never those of the event itself."""

    needed: tuple[str, ...]
    without_part: tuple[str, ...]


def causes_of(facts: Facts, key: EventKey) -> Causes:
    """The actual causes of an event among the bodies whose removal was run; where that is unsure, a body is neither."""
    if facts.says(key) is not True:
        raise ValueError(
            f"Expected something that surely happens in {facts.scene.id}, but got {' '.join(key).strip()}."
        )
    removed = [(world.intervention.bodies, world) for world in facts.worlds if world.intervention.kind == "remove"]
    worlds = {names[0]: world for names, world in removed if len(names) == 1 and names[0] not in (key.body, key.other)}
    says = {name: world.says(key) for name, world in worlds.items()}
    # Not needed, since another body would have done the same, or did.
    replaced = _replaced(facts, key, worlds)
    touches = _touches(facts, key)
    for names, world in removed:
        both = len(names) == 2 and all(says.get(name) and name in touches for name in names)
        if both and world.says(key) is False and abs(touches[names[0]] - touches[names[1]]) <= TOGETHER:
            replaced.update(names)
    return Causes(
        tuple(sorted(name for name, still in says.items() if still is False)),
        tuple(sorted(name for name, still in says.items() if still and name not in replaced)),
    )


def _replaced(facts: Facts, key: EventKey, worlds: dict[str, World]) -> set[str]:
    """The body that brings an event about where another one would have done so in its place."""
    doer = last_to_hit(facts.events, key)
    if doer is None or doer not in worlds or not worlds[doer].says(key):
        return set()
    return {doer} if last_to_hit(worlds[doer].events, key) not in (None, doer) else set()


def _touches(facts: Facts, key: EventKey) -> dict[str, float]:
    """Return the time at which each body first touches an event's body, up to the event."""
    return {
        event.other if event.body == key.body else event.body: event.time
        for event in facts.events
        if event.kind == "hits" and key.body in (event.body, event.other) and event.time <= first_time(facts, key)
    }


def first_time(facts: Facts, key: EventKey) -> float:
    return next(event.time for event in facts.events if event.key == key)


SLACK = 0.05
"""Seconds by which a body may seem to move before the hit that moves it: events are looked for only every few steps."""
_SET_OFF = ("starts", "falls")


def answer_of_seen_graph(facts: Facts, body: str | Iterable[str], key: EventKey) -> str:
    """Whether something would still happen had a body been changed, by the graph of what was seen."""
    happens = any(event.key == key for event in facts.events)
    return YES if happens and not reaches(facts, body, key) else NO


def reaches(facts: Facts, body: str | Iterable[str], key: EventKey) -> bool:
    """Whether a path of hits leads from a body, or one of several, to an event that happens, in the order of time: a
    body hits another that starts or falls then or later."""
    times = [event.time for event in facts.events if event.key == key]
    if not times:
        return False
    reached = {body} if isinstance(body, str) else set(body)
    hits = [event for event in facts.events if event.kind == "hits" and event.time <= min(times) + SLACK]
    for hit in sorted(hits, key=lambda one: (one.time, one.body, one.other)):
        if hit.body in reached and any(
            event.kind in _SET_OFF and event.body == hit.other and event.time >= hit.time - SLACK
            for event in facts.events
        ):
            reached.add(hit.other)
    return bool(reached & ({key.body, key.other} if key.kind == "hits" else {key.body}))
