"""Facts of made-up scenes: bodies in lanes that push each other, by a physics of its own that needs no engine."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from functools import cache

import numpy as np

from lmms_eval_tasks.worlds.questions.question import Question
from lmms_eval_tasks.worlds.questions.question_set import questions_of_set
from lmms_eval_tasks.worlds.scenes.scene import (
    COLOURS,
    Body,
    Camera,
    Event,
    Facts,
    Intervention,
    Scene,
    Sight,
    Twin,
    Violation,
    World,
)

SECONDS, DELAY = 4.0, 0.5
PAINTS = [colour for colour in COLOURS if colour not in ("grey", "brown")]


def made_facts(number: int, seed: int = 0) -> list[Facts]:
    """So many scenes, the same for the same seed."""
    return [made_scene(np.random.default_rng([seed, place]), place) for place in range(number)]


def made_scene(rng: np.random.Generator, place: int) -> Facts:
    """One scene: two or three lanes, each with a mover or two, some bodies that wait, and here and there a tray."""
    names = [(colour, shape) for colour in PAINTS for shape in ("ball", "box", "cylinder")]
    drawn = [names[int(one)] for one in rng.permutation(len(names))]
    bodies: list[Body] = []
    for lane in range(int(rng.integers(2, 4))):
        count = int(rng.integers(2, 5))
        both = count > 2 and rng.random() < 0.5
        for spot in range(count):
            colour, shape = drawn.pop()
            moving = spot == 0 or (both and spot == count - 1)
            speed = float(rng.uniform(0.8, 2.0)) * (1 if spot == 0 else -1) if moving else 0.0
            where = [-1.5 + 3.0 * spot / count + float(rng.uniform(0, 0.3)), float(lane), 0.15]
            size = [0.12] if shape == "ball" else [0.1, 0.2] if shape == "cylinder" else [0.1, 0.1, 0.2]
            body = {"name": f"{colour} {shape}", "shape": shape, "colour": colour, "size": size, "place": where}
            bodies.append(Body.model_validate({**body, "velocity": [speed, 0.0, 0.0]}))
        if rng.random() < 0.3:
            size = [0.2, 0.2, 0.05]
            tray = {"name": f"brown tray {lane}", "shape": "tray", "colour": "brown", "size": size}
            bodies.append(
                Body.model_validate({**tray, "place": [1.8, float(lane), 0.05], "scenery": True, "moves": "not at all"})
            )
    family = f"made {place // 5}"
    scene = Scene(id=f"made-{place}", family=family, seed=place, depth=2, distractors=1, bodies=bodies, camera=Camera())
    events = simulate(scene)
    worlds = [
        World(
            intervention=Intervention(kind=kind, bodies=[name]),
            events=(events_of_world := simulate(scene, **{kind: {name}})),
            unsure=[list(events_of_world[0].key)] if events_of_world and rng.random() < 0.1 else [],
        )
        for kind in ("remove", "freeze", "delay")
        for name in scene.actors
        if kind != "delay" or any(scene.body(name).velocity)
    ]
    for _ in range(2):
        pair = sorted(scene.actors[int(one)] for one in rng.permutation(len(scene.actors))[:2])
        if all(world.intervention.bodies != pair for world in worlds):
            events_of_world = simulate(scene, remove=pair)
            worlds.append(World(intervention=Intervention(kind="remove", bodies=pair), events=events_of_world))
    sights = _sights(scene, rng)
    return Facts(
        scene=scene,
        events=sorted([*events, *_views(sights)], key=lambda one: one.time),
        unsure=[list(events[-1].key)] if events and rng.random() < 0.1 else [],
        worlds=worlds,
        twin=_twin(scene, events, rng),
        sights=sights,
        violations=[
            Violation(principle=principle, body=scene.actors[int(rng.integers(len(scene.actors)))], time=1.0)
            for principle in ("permanence", "continuity", "gravity")
            if rng.random() < 0.6
        ],
        lost_energy=float(rng.choice([0.01, 0.1, 0.5])),
    )


def simulate(
    scene: Scene,
    remove: Collection[str] = (),
    freeze: Collection[str] = (),
    delay: Collection[str] = (),
) -> list[Event]:
    """What happens: movers hit the next body of their lane; a box falls, others move on, slower each time."""
    lanes: dict[float, list[Body]] = {}
    for body in scene.bodies:
        if body.name not in remove:
            lanes.setdefault(body.place[1], []).append(body)
    events = [event for lane in lanes.values() for event in _lane(lane, freeze, delay)]
    return sorted(events, key=lambda one: (one.time, one.kind, one.body, one.other))


def _lane(bodies: list[Body], freeze: Collection[str], delay: Collection[str]) -> list[Event]:
    events: list[Event] = []
    moved: set[str] = set()
    queue = [
        (DELAY if body.name in delay else 0.0, body.name, body.velocity[0])
        for body in bodies
        if body.velocity[0] and body.name not in freeze
    ]
    known = {body.name: body for body in bodies}
    heapq.heapify(queue)
    hit: set[frozenset[str]] = set()
    while queue:
        start, name, speed = heapq.heappop(queue)
        if name in moved:
            continue
        moved.add(name)
        body = known[name]
        ahead = sorted(
            (abs(other.place[0] - body.place[0]), other.name)
            for other in bodies
            if (other.place[0] - body.place[0]) * speed > 0 and other.name not in moved
        )
        for distance, other in ahead:
            time = start + distance / abs(speed)
            if known[other].shape == "tray":
                if time < SECONDS and body.shape != "box":
                    events.append(Event(kind="enters", time=round(time, 3), body=name, other=other))
                break
            if time > SECONDS - 0.3:
                break
            if frozenset((name, other)) in hit:
                continue
            hit.add(frozenset((name, other)))
            events.append(Event(kind="hits", time=round(time, 3), body=name, other=other))
            events.append(Event(kind="stops", time=round(time + 0.3, 3), body=name))
            if other not in freeze and not known[other].velocity[0] and other not in moved:
                events.append(Event(kind="starts", time=round(time + 0.01, 3), body=other))
                if known[other].shape == "box":
                    events.append(Event(kind="falls", time=round(time + 0.2, 3), body=other))
                    moved.add(other)
                else:
                    heapq.heappush(queue, (time, other, speed * 0.8))
            break
    return events


def _twin(scene: Scene, events: list[Event], rng: np.random.Generator) -> Twin | None:
    movers = [body for body in scene.bodies if any(body.velocity)]
    body = movers[int(rng.integers(len(movers)))]
    slower = body.model_copy(update={"velocity": [body.velocity[0] * 0.4, 0.0, 0.0]})
    bodies = [slower if one.name == body.name else one for one in scene.bodies]
    twin = scene.model_copy(update={"id": f"{scene.id}_twin", "bodies": bodies})
    others = simulate(twin)
    differs = {event.key for event in events} ^ {event.key for event in others}
    if not differs:
        return None
    return Twin(
        scene=twin,
        body=body.name,
        parameter="velocity",
        events=others,
        differs=[list(key) for key in sorted(differs)],
        same_start=True,
    )


def _sights(scene: Scene, rng: np.random.Generator) -> list[Sight]:
    """Most bodies are always seen, some are half hidden, and some are out of sight for a second."""
    sights = []
    least = {name: float(rng.choice([0.6, 0.6, 0.6, 0.3])) for name in scene.actors}
    away = {name: int(rng.integers(4, 12)) if rng.random() < 0.25 else -9 for name in scene.actors}
    for step in range(16):
        for place, name in enumerate(scene.actors):
            if away[name] <= step < away[name] + 4:
                continue
            visible = float(rng.uniform(least[name], 1.0))
            left = 20.0 + 30.0 * place + step
            sights.append(Sight(body=name, time=step / 4, box=[left, 90.0, left + 25.0, 130.0], visible=visible))
    return sights


def _views(sights: list[Sight]) -> list[Event]:
    found = []
    for name in sorted({sight.body for sight in sights}):
        seen = {sight.time for sight in sights if sight.body == name}
        for step in range(1, 16):
            before, now = (step - 1) / 4 in seen, step / 4 in seen
            if before != now:
                found.append(Event(kind="leaves view" if before else "comes into view", time=step / 4, body=name))
    return found


def world_of(facts: Facts, kind: str, *bodies: str) -> World:
    """The world of an intervention."""
    (found,) = (
        world
        for world in facts.worlds
        if (world.intervention.kind, world.intervention.bodies) == (kind, sorted(bodies))
    )
    return found


@cache
def made_set(number: int) -> tuple[tuple[Facts, ...], tuple[Question, ...]]:
    """So many scenes with all their questions."""
    facts = tuple(made_facts(number))
    return facts, tuple(questions_of_set(facts, seed=3))


def one_scene(events: list[Event], bodies: list[Body], **fields: object) -> Facts:
    """A scene with such events and bodies."""
    scene = Scene(id="one", family="made", seed=0, depth=2, bodies=bodies)
    return Facts.model_validate({"scene": scene, "events": events, "worlds": [], "lost_energy": 0.5, **fields})


def body(name: str, speed: float = 0.0, **fields: object) -> Body:
    """A body of a colour and a shape, which moves at such a speed or waits."""
    colour, shape = name.split()
    waits = {"name": name, "shape": shape, "colour": colour, "size": [0.1], "place": [0.0, 0.0, 0.1]}
    return Body.model_validate({**waits, "velocity": [speed, 0.0, 0.0], **fields})
