"""Which event of a scene causes which, as interventions show it."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.worlds.engine.facts import Event, Facts, Intervention, World
from lmms_eval_tasks.worlds.engine.scene import Scene
from lmms_eval_tasks.worlds.engine.settling import settle_world
from lmms_eval_tasks.worlds.engine.ties import nearly_equal

KINDS = frozenset({"hits", "falls", "enters", "starts"})
"""Events that may be a cause or an effect. That something comes to rest, or is seen no more, causes nothing."""


def linked_events(facts: Facts) -> list[Event]:
    """The events of a graph, in order of time: sure ones, once each, and no start that a hit or a fall already says."""
    found: dict[tuple[str, ...], Event] = {}
    actors = set(facts.scene.actors)
    for event in facts.events:
        if event.kind in KINDS and event.body in actors and facts.says(event.key) and event.key not in found:
            found[event.key] = event
    said = {body for event in found.values() if event.kind != "starts" for body in (event.body, event.other)}
    return [event for event in found.values() if event.kind != "starts" or event.body not in said]


def prevented(scene: Scene, events: Sequence[Event]) -> list[World]:
    """For each event the world in which the body that does it is held where it is from the start."""
    near = nearly_equal(scene)
    worlds = {
        name: settle_world(scene, near, Intervention(kind="freeze", bodies=[name]))
        for name in dict.fromkeys(event.body for event in events)
    }
    return [worlds[event.body] for event in events]


def causal_links(
    events: Sequence[Event], worlds: Sequence[World]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The direct links between events, and the pairs that interventions show to be independent; both by position."""
    count = len(events)
    verdicts = {
        (one, other): _depends(worlds[one], events[one], events[other])
        for one in range(count)
        for other in range(one + 1, count)
    }
    holds = {pair for pair, verdict in verdicts.items() if verdict}
    direct = [
        (one, other)
        for one, other in sorted(holds)
        if not any((one, middle) in holds and (middle, other) in holds for middle in range(one + 1, other))
    ]
    return direct, sorted(pair for pair, verdict in verdicts.items() if verdict is False)


def _depends(world: World, cause: Event, effect: Event) -> bool | None:
    if world.says(cause.key) is not False or {effect.body, effect.other} & set(world.intervention.bodies):
        return None
    happens = world.says(effect.key)
    return None if happens is None else not happens
