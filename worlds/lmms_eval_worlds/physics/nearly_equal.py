"""Scenes near a tie: what happens in a scene and not in all those that are nearly equal to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from lmms_eval_worlds.physics.mechanics import build_model, start
from lmms_eval_worlds.scenes.scene import Body, Event, EventKey, Scene

DRAWS = 16
"""How many nearly equal scenes are run."""
WITHIN = 0.01
"""The share by which a parameter of theirs differs, at most; of places, a share of the way to the next body."""
_CLOSE = 0.01
"""Metres between bodies that lie against each other, or nearly so."""


def numbers(*parts: object) -> np.random.Generator:
    """Random numbers that are those of some parts, on every machine."""
    digest = sha256("/".join(str(part) for part in parts).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def nearly_equal(scene: Scene) -> list[Scene]:
    """The scene `DRAWS` times, each time with all of its parameters a little different."""
    groups = _groups(scene)
    return [_draw(scene, groups, numbers("nearly equal", scene.id, scene.seed, draw)) for draw in range(DRAWS)]


def unsure_keys(events: Sequence[Event], others: Iterable[Sequence[Event]]) -> list[list[str]]:
    """Return the keys of events that happen in some runs but not in all, sorted, as in `World.unsure`."""
    runs = [{event.key for event in run} for run in (events, *others)]
    counts = Counter(key for run in runs for key in run)
    return sorted(list(key) for key, count in counts.items() if count < len(runs))


def agreed_order(events: Sequence[Event], others: Sequence[Sequence[Event]]) -> list[EventKey]:
    """Events in an order that all runs have, as many as can be taken from the start on."""
    times = [{event.key: event.time for event in reversed(run)} for run in (events, *others)]
    order: list[EventKey] = []
    for key in dict.fromkeys(event.key for event in events):
        if all(key in run and (not order or run[order[-1]] < run[key]) for run in times):
            order.append(key)
    return order


def _groups(scene: Scene) -> list[list[Body]]:
    """The bodies of a scene, those that lie against each other at the start together."""
    model = build_model(scene)
    data = start(model, scene)
    bodies = list(scene.bodies)
    geoms = [np.flatnonzero(model.geom_bodyid == model.body(body.name).id).tolist() for body in bodies]
    group = list(range(len(bodies)))
    for one in range(len(bodies)):
        for other in range(one):
            # Each may grow by a hundredth of its size and move by a hundredth of the way between them.
            way = float(np.linalg.norm(np.subtract(bodies[one].place, bodies[other].place)))
            grown = WITHIN * (max(bodies[one].size) + max(bodies[other].size) + 2 * way)
            if group[one] != group[other] and _distance(model, data, geoms[one], geoms[other]) < _CLOSE + grown:
                joined = group[one]
                group = [group[other] if number == joined else number for number in group]
    return [
        [body for body, number in zip(bodies, group, strict=True) if number == wanted] for wanted in sorted(set(group))
    ]


def _distance(model: mujoco.MjModel, data: mujoco.MjData, ones: Iterable[int], others: Sequence[int]) -> float:
    """Metres between the surfaces of two bodies, at most 0.5; negative where one is inside the other."""
    between = np.zeros(6)
    return min(float(mujoco.mj_geomDistance(model, data, one, other, 0.5, between)) for one in ones for other in others)


def _draw(scene: Scene, groups: Sequence[Sequence[Body]], random: np.random.Generator) -> Scene:
    changed: dict[str, Body] = {}
    for group in groups:
        names = {body.name for body in group}
        near = [
            float(np.hypot(body.place[0] - other.place[0], body.place[1] - other.place[1]))
            for body in group
            for other in scene.bodies
            if other.name not in names
        ]
        shift = random.uniform(-WITHIN, WITHIN, 2) * min([1.0, *near])
        centre = np.mean([body.place for body in group], axis=0)
        centre[2] = 0.0
        growth = 1.0 + float(random.uniform(-WITHIN, WITHIN))
        for body in group:
            alone = len(group) == 1 and body.hinge is None and not any(body.turn[:2])
            fields = _alone(body, growth, random) if alone else _together(body, growth, centre)
            x, y, z = fields["place"]
            fields["place"] = [x + float(shift[0]), y + float(shift[1]), z]
            if body.hinge is not None:
                point = centre + growth * (np.array(body.hinge.point) - centre)
                moved = [float(point[0] + shift[0]), float(point[1] + shift[1]), float(point[2])]
                fields["hinge"] = body.hinge.model_copy(update={"point": moved})
            changed[body.name] = body.model_copy(update={**fields, **_properties(body, random)})
    return scene.model_copy(update={"bodies": [changed[body.name] for body in scene.bodies]})


def _alone(body: Body, growth: float, random: np.random.Generator) -> dict[str, Any]:
    """Sizes and place of a body that nothing touches: each size by itself, its underside where it was or nearly."""
    sizes = [size * _factor(random) for size in body.size]
    before, after = (values[0] if body.shape == "ball" else values[-1] for values in (body.size, sizes))
    under = (body.place[2] - before) * growth
    turn = [body.turn[0], body.turn[1], body.turn[2] * _factor(random)]
    return {"size": sizes, "place": [body.place[0], body.place[1], under + after], "turn": turn}


def _together(body: Body, growth: float, centre: NDArray[np.float64]) -> dict[str, Any]:
    """Sizes and place of a body in a group that grows about a point of the floor."""
    place = centre + growth * (np.array(body.place) - centre)
    return {"size": [size * growth for size in body.size], "place": [float(value) for value in place]}


def _properties(body: Body, random: np.random.Generator) -> dict[str, float | list[float]]:
    return {
        "velocity": [value * _factor(random) for value in body.velocity],
        "mass": body.mass * _factor(random),
        "friction": body.friction * _factor(random),
        "bounce": min(1.0, body.bounce * _factor(random)),
    }


def _factor(random: np.random.Generator) -> float:
    return 1.0 + float(random.uniform(-WITHIN, WITHIN))
