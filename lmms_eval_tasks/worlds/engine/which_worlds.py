"""Which other worlds of a scene are worth running."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.worlds.engine.facts import Event, EventKey, Intervention, World
from lmms_eval_tasks.worlds.engine.scene import Scene

MOST_REMOVED = 8
MOST_PAIRS = 2
MOST_HELD = 2
_LINKS = ("starts", "falls", "enters")


def singles(scene: Scene, events: Sequence[Event]) -> tuple[list[Intervention], list[Intervention]]:
    """Each body removed, those with a part in an event first; and each of the first movers held."""
    taking_part = [name for event in events for name in (event.body, event.other)]
    actors = [name for name in dict.fromkeys([*taking_part, *scene.actors]) if name in scene.actors]
    if len(scene.bodies) == 1:
        actors = []
    movers = first_movers(scene, events)[:MOST_HELD]
    return (
        [Intervention(kind="remove", bodies=[name]) for name in actors[:MOST_REMOVED]],
        [
            *(Intervention(kind="freeze", bodies=[name]) for name in movers),
            *(Intervention(kind="delay", bodies=[name]) for name in movers if any(scene.body(name).velocity)),
        ],
    )


def first_movers(scene: Scene, events: Sequence[Event]) -> list[str]:
    """The bodies that move without another's doing: from the start, or before anything that moves touches them."""
    actors = set(scene.actors)
    movers = [body.name for body in scene.bodies if any(body.velocity) and body.name in actors]
    touched: set[str] = set()
    for event in events:
        if event.kind == "hits":
            touched |= {event.body, event.other}
        elif event.kind in ("starts", "falls") and event.body in actors - touched - set(movers):
            movers.append(event.body)
    return movers


def pairs_to_remove(
    events: Sequence[Event], unsure: Sequence[Sequence[str]], worlds: Sequence[World]
) -> list[Intervention]:
    """Pairs of bodies either of which may be enough for an event that no single removal prevents."""
    loose = {tuple(key) for key in unsure}
    removed = {world.intervention.bodies[0]: world for world in worlds}
    pairs: list[list[str]] = []
    for event in events:
        if event.kind not in _LINKS or event.key in loose:
            continue
        if any(world.says(event.key) is False for name, world in removed.items() if name != event.body):
            continue
        one = last_to_hit(events, event.key)
        other = last_to_hit(removed[one].events, event.key) if one in removed else None
        if one and other and other in removed and one != other and sorted((one, other)) not in pairs:
            pairs.append(sorted((one, other)))
    return [Intervention(kind="remove", bodies=pair) for pair in pairs[:MOST_PAIRS]]


def last_to_hit(events: Sequence[Event], key: EventKey) -> str | None:
    """The body that is the last to touch an event's body before it happens; None where none does."""
    moved_at = {event.body: event.time for event in reversed(events) if event.kind in ("starts", "falls")}
    found = None
    for event in events:
        if event.key == key:
            return found
        if event.kind == "hits" and key.body in (event.body, event.other):
            sets_off = event.body == key.body and moved_at.get(event.other, -1.0) >= event.time
            if not sets_off:
                found = event.other if event.body == key.body else event.body
    return None
