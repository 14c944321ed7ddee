"""Two balls reach a box together: either is enough to push it over, or both are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import SMOOTH, Palette, SceneFamily, bystanders, changed, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

LIGHT, HEAVY = (0.15, 0.3), (1.5, 2.1)
"""Kilograms of boxes that one ball pushes over, and of those that need two."""


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One link: the box falls."""
    palette = Palette(random)
    depth = int(random.integers(1, 3))
    direction, x = side(random), float(random.uniform(-0.1, 0.15))
    apart, radius = float(random.uniform(0.15, 0.18)), float(random.uniform(0.09, 0.11))
    way, speed = float(random.uniform(0.75, 0.95)), float(random.uniform(2.0, 2.4))
    row = float(random.uniform(-0.1, 0.1))
    balls = [
        palette.body(
            "ball",
            [radius],
            [direction * (x - way), row + where * apart, radius],
            velocity=[direction * speed, 0.0, 0.0],
            mass=0.6,
            bounce=0.6,
            friction=SMOOTH,
        )
        for where in (-1.0, 1.0)
    ]
    heavy = bool(random.random() < 1 / 3)
    half = float(random.uniform(0.17, 0.2))
    mass = float(random.uniform(*(HEAVY if heavy else LIGHT)))
    box = palette.body("box", [0.05, 0.3, half], [direction * x, row, half], mass=mass, friction=0.9, bounce=0.2)
    bodies = [*balls, box]
    if depth == 2:
        size = radius * 0.95
        beyond = direction * (x + 0.05 + float(random.uniform(0.55, 0.8)) * 2 * half + size)
        bodies.append(palette.body("ball", [size], [beyond, row, size], mass=0.3, bounce=0.6, friction=SMOOTH))
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="two_causes",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.75, 0.85))],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The box has another mass, or a ball is too slow."""
    ball, box = scene.bodies[int(random.integers(2))], scene.bodies[2]
    slower = changed(ball, velocity=[ball.velocity[0] * 0.2, 0.0, 0.0])
    very_heavy = changed(box, mass=14.0)
    return (slower, very_heavy) if box.mass >= HEAVY[0] else (very_heavy, slower)


FAMILY = SceneFamily("two_causes", "two balls reach a box together; one is enough, or both are needed", draw, vary)
