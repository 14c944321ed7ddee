"""A ball goes in behind a wall; what comes out shows whether something lay hidden there, and what."""

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
    """Behind the wall lies a ball in the way, a heavy box in the way, a ball beside the way, or nothing."""
    palette = Palette(random)
    direction, row = side(random), float(random.uniform(0.0, 0.1))
    radius = float(random.uniform(0.095, 0.11))
    kind = str(random.choice(["ball", "ball", "box", "beside", "nothing"]))
    middle = float(random.uniform(-0.1, 0.1))
    bodies = [
        scenery("grey wall", "wall", [0.4, 0.02, 0.24], [middle, row - 0.2, 0.24]),
        palette.body(
            "ball",
            [radius],
            [middle - direction * random.uniform(0.85, 1.0), row, radius],
            velocity=[direction * random.uniform(1.8, 2.3), 0.0, 0.0],
            mass=0.6,
            bounce=0.85,
            friction=SMOOTH,
        ),
    ]
    hidden = [middle + direction * random.uniform(-0.05, 0.1), row, radius]
    if kind == "beside":
        hidden[1] += 2 * radius + random.uniform(0.08, 0.1)
    if kind == "box":
        bodies.append(
            palette.body("box", [0.09, 0.11, radius], hidden, mass=6.0, friction=0.8, bounce=0.6),
        )
    elif kind != "nothing":
        bodies.append(palette.body("ball", [radius], hidden, mass=0.6, bounce=0.85, friction=SMOOTH))
    links = int(random.integers(0 if kind in ("ball", "box") else 1, 3))
    places = [middle + direction * (0.72 + 0.32 * link) for link in range(links)]
    bodies += row_of(random, palette, places, row, radius) if links else []
    distractors = int(random.integers(0, 3))
    depth = {"ball": 1 + links, "box": 1}.get(kind, links)
    return Scene(
        id=scene_id,
        family="occlusion",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.7, 0.8))],
        **surroundings(random, moving_share=0.15),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """Return variants: the hidden body heavy or light, beside the path or in it, or the ball too slow to get there."""
    wall, ball = scene.bodies[:2]
    slow = changed(ball, velocity=[value * 0.25 for value in ball.velocity])
    others = scene.bodies[2 : len(scene.bodies) - scene.distractors]
    hidden = [body for body in others if abs(body.place[0] - wall.place[0]) < wall.size[0]]
    if not hidden:
        return [slow, changed(others[0], mass=others[0].mass * 20)]
    x, y, z = hidden[0].place
    beside = y + 0.31 if abs(y - ball.place[1]) < 0.1 else ball.place[1]
    return [
        changed(hidden[0], mass=0.4 if hidden[0].mass > 1.0 else 8.0),
        changed(hidden[0], place=[x, beside, z]),
        slow,
    ]


FAMILY = SceneFamily(
    "occlusion", "a ball goes in behind a wall, and what comes out shows what happened there", draw, vary
)
