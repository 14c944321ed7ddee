"""Actual causes of events, as interventions show them, and the answers of a reader who takes every path of hits for a
cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Facts, World, last_to_hit

TOGETHER = 0.1
"""Seconds between the first touches of two bodies that act together."""


class Causes(NamedTuple):
    """Causes of an event; names are sorted, and never those of the event itself."""

    but_for: tuple[str, ...]
    together: tuple[tuple[str, str], ...]
    preempting: tuple[tuple[str, str], ...]
    without_part: tuple[str, ...]
    unsure: tuple[str, ...]


def causes_of(facts: Facts, key: EventKey) -> Causes:
    """The actual causes of an event among the bodies whose removal was run."""
    if facts.says(key) is not True:
        raise ValueError(
            f"Expected something that surely happens in {facts.scene.id}, but got {' '.join(key).strip()}."
        )
    worlds = {name: world for world in facts.worlds if (name := _removed(world)) and name not in (key.body, key.other)}
    says = {name: world.says(key) for name, world in worlds.items()}
    together, preempting = _pairs(facts, key, worlds)
    but_for = sorted(name for name, still in says.items() if still is False)
    acting = {*but_for, *(name for pair in together for name in pair), *(one for one, _ in preempting)}
    return Causes(
        but_for=tuple(but_for),
        together=together,
        preempting=preempting,
        without_part=tuple(sorted(name for name, still in says.items() if still and name not in acting)),
        unsure=tuple(sorted(name for name, still in says.items() if still is None)),
    )


def _removed(world: World) -> str | None:
    """The one body that a world lacks."""
    bodies = world.intervention.bodies
    return bodies[0] if world.intervention.kind == "remove" and len(bodies) == 1 else None


def _pairs(
    facts: Facts, key: EventKey, worlds: dict[str, World]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Pairs that bring an event about together, and pairs of which one does and the other would have."""
    together, preempting = set(), set()
    doer = last_to_hit(facts.events, key)
    if doer in worlds and worlds[doer].says(key):
        backup = last_to_hit(worlds[doer].events, key)
        if backup and backup != doer:
            preempting.add((doer, backup))
    for world in facts.worlds:
        pair = tuple(world.intervention.bodies)
        if world.intervention.kind != "remove" or len(pair) != 2 or world.says(key) is not False:
            continue
        one, other = pair
        if not all(name in worlds and worlds[name].says(key) for name in pair):
            continue
        touches = _touches(facts, key)
        if one in touches and other in touches and abs(touches[one] - touches[other]) <= TOGETHER:
            together.add((one, other))
            preempting -= {(one, other), (other, one)}
    return tuple(sorted(together)), tuple(sorted(preempting))


def _touches(facts: Facts, key: EventKey) -> dict[str, float]:
    """Return the time at which each body first touches an event's body, up to the event."""
    times = [event.time for event in facts.events if event.key == key]
    return {
        event.other if event.body == key.body else event.body: event.time
        for event in facts.events
        if event.kind == "hits" and key.body in (event.body, event.other) and event.time <= times[0]
    }


SLACK = 0.05
"""Seconds by which a body may seem to move before the hit that moves it: events are looked for only every few steps."""
_SET_OFF = ("starts", "falls")


def seen_links(facts: Facts) -> list[tuple[str, str, float]]:
    """Return the links of who set off whom and when, in order of time: a body hits another that starts or falls then or
    later."""
    links = [
        (event.body, event.other, event.time)
        for event in facts.events
        if event.kind == "hits" and _set_off(facts.events, event)
    ]
    return sorted(links, key=lambda link: (link[2], link[0], link[1]))


def answer_of_seen_graph(facts: Facts, body: str | Iterable[str], key: EventKey) -> str:
    """Whether something would still happen had a body been changed, by the graph of what was seen."""
    return NO if not _happens(facts, key) or reaches(facts, body, key) else YES


def reaches(facts: Facts, body: str | Iterable[str], key: EventKey) -> bool:
    """Whether a path of hits leads from a body, or one of several, to an event that happens, in the order of time."""
    times = [event.time for event in facts.events if event.key == key]
    if not times:
        return False
    reached = {body} if isinstance(body, str) else set(body)
    for one, other, time in seen_links(facts):
        if one in reached and time <= min(times) + SLACK:
            reached.add(other)
    return bool(reached & ({key.body, key.other} if key.kind == "hits" else {key.body}))


def _happens(facts: Facts, key: EventKey) -> bool:
    return any(event.key == key for event in facts.events)


def _set_off(events: list[Event], hit: Event) -> bool:
    return any(
        event.kind in _SET_OFF and event.body == hit.other and event.time >= hit.time - SLACK for event in events
    )
