"""A ball on a hinge swings and strikes a ball, which rolls into others; or a rolling ball strikes the hanging one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import (
    SMOOTH,
    Palette,
    SceneFamily,
    bystanders,
    changed,
    row_of,
    scenery,
    side,
    surroundings,
)
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """The pendulum starts raised, or hangs still between a rolling ball and a row of balls; one to four links."""
    palette = Palette(random)
    direction, row = side(random), float(random.uniform(-0.15, 0.15))
    radius = float(random.uniform(0.1, 0.12))
    hanging = random.random() < 0.35
    x = (0.0 if hanging else -0.35) * direction + float(random.uniform(-0.05, 0.05))
    length = float(random.uniform(0.8, 0.9))
    high = length + radius * 1.05
    bodies = [scenery("brown beam", "wall", [0.03, 0.25, 0.03], [x, row, high + 0.04])]
    raised = 0.0 if hanging else float(np.radians(random.uniform(32.0, 44.0)))
    place = [x - direction * length * np.sin(raised), row, high - length * np.cos(raised)]
    point = [round(x, 4), round(row, 4), round(high, 4)]
    bob = palette.body(
        "ball",
        [radius],
        place,
        mass=0.7,
        bounce=0.85,
        friction=SMOOTH,
        moves="about its hinge",
        hinge={"point": point, "axis": "y"},
    )
    links = int(random.integers(1, 4))
    gap = 0.42 if hanging else 0.44
    first = x + direction * (gap if hanging else 2 * radius + random.uniform(0.0, 0.03))
    places = [first + direction * gap * link for link in range(links)]
    row_bodies = row_of(random, palette, places, row, radius)
    if random.random() < 0.3:
        row_bodies += row_of(random, palette, places[:1], row + float(random.choice([-0.35, 0.35])), radius, tips=0.0)
    if hanging:
        start = x - direction * random.uniform(0.85, 1.0)
        speed = float(random.uniform(1.8, 2.3))
        bodies.append(
            palette.body(
                "ball",
                [radius],
                [start, row, radius],
                velocity=[direction * speed, 0.0, 0.0],
                mass=0.7,
                bounce=0.85,
                friction=SMOOTH,
            )
        )
    bodies += [bob, *row_bodies]
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="pendulum",
        seed=seed,
        depth=links + hanging,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.72, 0.75))],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The rolling ball is slow, what is hit first is heavy, or lies aside."""
    bodies = [body for body in scene.bodies if not body.scenery]
    number = next(index for index, body in enumerate(bodies) if body.hinge is not None)
    hit = bodies[number + 1]
    aside = [hit.place[0], hit.place[1] - 0.35, hit.place[2]]
    return [
        *(changed(body, velocity=[value * 0.25 for value in body.velocity]) for body in bodies if any(body.velocity)),
        changed(hit, mass=hit.mass * 20),
        changed(hit, place=aside),
    ]


FAMILY = SceneFamily("pendulum", "a ball on a hinge swings and strikes others", draw, vary)
