"""Facts of scenes that no physics has run: anything may happen in them and in their other worlds, also what is rare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from small_worlds import body, scene

from lmms_eval_tasks.api.release import as_lines
from lmms_eval_worlds.export import SceneGraph, causal_links, graph_line, linked_events, question_lines
from lmms_eval_worlds.physics.other_worlds import make_twin
from lmms_eval_worlds.physics.pictures import events_of_view
from lmms_eval_worlds.scenes.scene import Body, Event, EventKey, Facts, Intervention, Scene, Sight, Violation, World

COLOURS = ("red", "green", "blue", "white", "purple", "orange")
SIZES = {"ball": [0.1], "box": [0.1, 0.1, 0.1], "cylinder": [0.1, 0.1]}
PRINCIPLES = ("permanence", "continuity", "solidity", "gravity", "inertia")


def made_sights(shown: Scene) -> list[Sight]:
    """Most bodies are always seen, some are half hidden, and some are out of sight for a second."""
    rng, sights = np.random.default_rng(shown.seed), []
    for place, name in enumerate(shown.actors):
        least = float(rng.choice([0.6, 0.6, 0.6, 0.3]))
        away = int(rng.integers(4, 12)) if rng.random() < 0.25 else -9
        for step in set(range(16)) - set(range(away, away + 4)):
            left = 20.0 + 30.0 * place + step
            box = [left, 90.0, left + 25.0, 130.0]
            sights.append(Sight(body=name, time=step / 4, box=box, visible=float(rng.uniform(least, 1.0))))
    return sights


def exported(facts: Facts) -> str:
    """The graph that removals show and its questions, as a set to train on has them."""
    events = linked_events(facts)
    removed = {one.intervention.bodies[0]: one for one in reversed(facts.worlds) if one.intervention.kind == "remove"}
    graph = SceneGraph(facts, events, *causal_links(events, [removed[event.body] for event in events]))
    return as_lines([graph_line(graph), *question_lines(graph, np.random.default_rng(facts.scene.seed))])


def invented(number: int) -> Facts:
    """The same for the same number: from three to six bodies, which may move, touch or end up in a tray.

    Of those with three nothing is known of what is seen, so that few events are left that do not happen.
    """
    rng = np.random.default_rng(number)
    shapes = rng.choice(list(SIZES), size=3 + number % 4)
    bodies = [_body(rng, place, f"{COLOURS[place]} {shape}") for place, shape in enumerate(shapes)]
    tray = body("brown tray", [0.2, 0.2, 0.05], [0.0, 1.0, 0.05], moves="not at all", scenery=True)
    shown = scene(*bodies, tray, name=f"invented_{number}", seconds=4.0).model_copy(update={"seed": number})
    actors, keys = list(shown.actors), _keys(shown)
    sights = made_sights(shown) if number % 4 else []
    events = _drawn(rng, keys, [], often=(0.8, 0.25, 0.5)[number % 3])
    unsure = [list(key) for key in keys if rng.random() < 0.05]
    changes = [Intervention(kind="remove", bodies=[name]) for name in actors]
    changes += [Intervention(kind="remove", bodies=sorted(actors[:2])), Intervention(kind="freeze", bodies=actors[:1])]
    changes += [Intervention(kind="delay", bodies=actors[:1])]
    other = bodies[0].model_copy(update={"mass": 2.0} if number % 2 else {"place": [-1.1, 0.5, 0.1]})
    return Facts(
        scene=shown,
        events=sorted([*events, *events_of_view(sights)], key=lambda event: event.time),
        unsure=unsure,
        worlds=[_world(rng, keys, events, change) for change in changes],
        again=[list(event.key) for event in events if rng.random() < 0.1],
        twin=make_twin(shown, other, events, _drawn(rng, keys, events, often=0.15), unsure) if number % 5 else None,
        sights=sights,
        violations=[_violation(principle, actors[0], actors[1]) for principle in PRINCIPLES if rng.random() < 0.5],
        lost_energy=(0.01, 0.1, 0.5)[number % 3],
    )


def _body(rng: np.random.Generator, place: int, name: str) -> Body:
    """They stand along x, every other one so near to the one before that it touches it."""
    x = -1.0 + 0.5 * place - 0.3 * (place % 2)
    moving = {"velocity": [1.0, 0.0, 0.0]} if place == 0 or rng.random() < 0.2 else {}
    return body(name, SIZES[name.split()[1]], [x, 0.0, 0.1], **moving)


def _keys(shown: Scene) -> list[EventKey]:
    """What the bodies could do or undergo."""
    keys = [EventKey("hits", *sorted(pair)) for pair in combinations(shown.actors, 2)]
    for name in shown.actors:
        keys += [EventKey("falls", name), EventKey("enters", name, "brown tray"), EventKey("stops", name)]
        keys += [] if any(shown.body(name).velocity) else [EventKey("starts", name)]
    return keys


def _drawn(
    rng: np.random.Generator,
    keys: Iterable[EventKey],
    usual: Sequence[Event],
    often: float,
    without: Sequence[str] = (),
) -> list[Event]:
    """Most of what usually happens, and so often something else, but nothing to bodies that are not there."""
    known = {event.key for event in usual}
    found = [
        Event(kind=key.kind, time=round(float(rng.uniform(0.2, 3.8)), 2), body=key.body, other=key.other)
        for key in keys
        if rng.random() < (0.6 if key in known else often) and not {key.body, key.other} & set(without)
    ]
    return sorted(found, key=lambda event: event.time)


def _world(rng: np.random.Generator, keys: Sequence[EventKey], events: Sequence[Event], change: Intervention) -> World:
    unsure = [list(key) for key in keys if rng.random() < 0.05]
    return World(intervention=change, events=_drawn(rng, keys, events, 0.1, change.bodies), unsure=unsure)


def _violation(principle: str, one: str, other: str) -> Violation:
    fields = {"principle": principle, "body": one, "other": other if principle == "solidity" else "", "time": 1.0}
    return Violation.model_validate(fields)
