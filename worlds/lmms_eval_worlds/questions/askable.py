"""Events and worlds of a scene that may be asked about: sure ones, of bodies that are no scenery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lmms_eval_worlds.scenes.scene import Body, Event, EventKey, EventKind, Facts, Scene, Sight, World

NEAR = 0.015
"""Metres between two bodies below which they touch."""


def touching_at_start(scene: Scene) -> list[set[str]]:
    """Pairs of bodies whose boxes along the world's axes touch or overlap at the start; scenery is left out."""
    actors = [body for body in scene.bodies if not body.scenery]
    return [
        {one.name, other.name}
        for one, other in combinations(actors, 2)
        if np.all(np.abs(np.subtract(one.place, other.place)) < _reach(one) + _reach(other) + NEAR)
    ]


def _reach(body: Body) -> NDArray[np.float64]:
    """Half the extent of a body along x, y and z, in metres."""
    from scipy.spatial.transform import Rotation  # 0.2 s, which every command would pay

    sizes = {1: body.size * 3, 2: [body.size[0], *body.size]}.get(len(body.size), body.size)
    turned = np.eye(3) if body.shape == "ball" else Rotation.from_euler("xyz", body.turn, degrees=True).as_matrix()
    reach: NDArray[np.float64] = np.abs(turned) @ np.array(sizes)
    return reach


PHYSICAL: tuple[EventKind, ...] = ("hits", "starts", "falls", "enters")
"""Kinds of which one can ask whether they would have happened. A body that never moved would not "come to rest"."""
PLAIN: tuple[EventKind, ...] = (*PHYSICAL, "stops")
"""Kinds of which one can ask whether they happen, without pictures."""
VIEWED: tuple[EventKind, ...] = ("leaves view", "comes into view")
"""Kinds that are known of the clip alone, and of no other world."""
SHOWN: tuple[EventKind, ...] = (*PLAIN, *VIEWED)
"""Kinds of which one can ask whether the clip shows them."""
CLEAR = 0.5
"""Share of a body that is seen, from which it is sure that one sees it."""


class Sayings:
    """Lookup of events that surely happen and surely do not, as `Facts.says` and `World.says` give them."""

    def __init__(self, events: Sequence[Event], unsure: Collection[Sequence[str]]) -> None:
        self._happens = {event.key for event in events}
        self._unsure = {tuple(one) for one in unsure}

    def __call__(self, key: EventKey) -> bool | None:
        """Whether something happens; None where that is unsure."""
        return None if key in self._unsure else key in self._happens


class Askable:
    """Events and worlds of a scene that questions may be about."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        clear = [sight for sight in facts.sights if sight.visible >= CLEAR]
        self.actors = self._seen(clear)
        self.seen_at_start = self._seen([sight for sight in clear if sight.time == 0.0])
        self.says = Sayings(facts.events, facts.unsure)
        self.worlds = [
            (world, Sayings(world.events, world.unsure))
            for world in facts.worlds
            if set(world.intervention.bodies) <= set(self.actors)
        ]
        self._happened: dict[EventKey, Event] = {}
        for event in sorted(facts.events, key=lambda one: (one.time, one.key)):
            if self.says(event.key) and self.may_be_named(event.key):
                self._happened.setdefault(event.key, event)
        self._absent = [key for key in self._possible() if self.says(key) is False]
        self._touching = touching_at_start(facts.scene)
        self._touching += [{event.body, event.other} for event in facts.events if event.kind == "hits"]

    def may_be_named(self, key: EventKey) -> bool:
        """Whether questions may be about all bodies of an event; what something ends up in may be scenery."""
        return key.body in self.actors and (not key.other or key.kind == "enters" or key.other in self.actors)

    def happens_again(self, event: Event) -> bool:
        """Whether what happens once happens again later, so that one cannot say that it is the last."""
        return list(event.key) in self.facts.again

    def happened(self, kinds: Collection[EventKind] = PLAIN) -> list[Event]:
        """Return the events that surely happen, in order of time, each once."""
        return [event for event in self._happened.values() if event.kind in kinds]

    def absent(self, kinds: Collection[EventKind] = PLAIN) -> list[EventKey]:
        """Return the events that surely do not happen though the bodies could do them, in order of the bodies."""
        return [key for key in self._absent if key.kind in kinds]

    def outcomes(self, world: World, says: Sayings) -> tuple[list[EventKey], list[EventKey]]:
        """Return the events that surely happen in another world and those that surely do not, of other bodies than
        those it changes."""
        keys = {event.key for event in self.happened(PHYSICAL)} | set(self.absent(PHYSICAL))
        keys |= {
            event.key
            for event in world.events
            if event.kind in PHYSICAL and self.says(event.key) is False and self.may_be_named(event.key)
        }
        changed = set(world.intervention.bodies)
        found = sorted(key for key in keys if not changed & {key.body, key.other})
        return [key for key in found if says(key)], [key for key in found if says(key) is False]

    def touches(self, bodies: Collection[str], key: EventKey) -> bool:
        """Whether one of some bodies touches one of those of an event at any time of the clip."""
        return any(pair & set(bodies) and pair & {key.body, key.other} for pair in self._touching)

    def _seen(self, sights: Collection[Sight]) -> tuple[str, ...]:
        """The bodies that are in some sights; all but scenery where nothing is known of what is seen."""
        seen = {sight.body for sight in sights}
        return tuple(name for name in self.facts.scene.actors if name in seen or not self.facts.sights)

    def _possible(self) -> list[EventKey]:
        """Return the events that the bodies of the scene could take part in."""
        actors = [body for body in self.facts.scene.bodies if body.name in self.actors]
        trays = [body.name for body in self.facts.scene.bodies if body.shape == "tray"]
        keys: list[EventKey] = []
        for one, other in combinations(actors, 2):
            if one.moves != "not at all" or other.moves != "not at all":
                keys.append(EventKey("hits", *sorted((one.name, other.name))))
        for body in actors:
            if body.moves == "not at all":
                continue
            if not any(body.velocity):
                keys.append(EventKey("starts", body.name))
            if any(body.velocity) or self.says(EventKey("starts", body.name)):
                keys.append(EventKey("stops", body.name))
            if body.moves == "freely":
                keys.append(EventKey("falls", body.name))
                keys += [EventKey("enters", body.name, tray) for tray in trays if tray != body.name]
        return [*keys, *(EventKey(kind, name) for name in self._clear() for kind in VIEWED)]

    def _clear(self) -> list[str]:
        """The bodies that are never nearly out of sight; none where nothing is known of what is seen."""
        times = len({sight.time for sight in self.facts.sights})
        clear = Counter(sight.body for sight in self.facts.sights if sight.visible >= CLEAR)
        return [name for name in self.actors if times and clear[name] == times]
