"""A row of bodies, each of which the one before it sets in motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.engine.families import Family
from lmms_eval_tasks.worlds.engine.families._drawing import Palette, bystanders, surroundings
from lmms_eval_tasks.worlds.engine.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """Two to four links from left to right or from right to left; the last body is a ball or stands and may tip."""
    palette = Palette(random)
    depth = int(random.integers(2, 5))
    direction = float(random.choice([-1.0, 1.0]))
    row = float(random.uniform(-0.15, 0.15))
    radius = float(random.uniform(0.10, 0.13))
    gap = 2.4 / (depth + 1)
    bodies = [
        palette.body(
            "ball",
            [radius],
            [-1.25 * direction, row, radius],
            velocity=[direction * random.uniform(2.0, 2.8), 0.0, 0.0],
            mass=0.8,
            bounce=0.7,
        )
    ]
    for link in range(1, depth + 1):
        x = (-1.25 + gap * link + random.uniform(-0.05, 0.05)) * direction
        if link == depth and random.random() < 0.5:
            half = random.uniform(0.14, 0.2)
            bodies.append(palette.body("box", [0.045, 0.09, half], [x, row, half], mass=0.15))
        else:
            size = radius * random.uniform(0.9, 1.0)
            bodies.append(palette.body("ball", [size], [x, row, size], mass=0.6, bounce=0.7))
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="chain",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.55, 0.6))],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The first ball is slower, or a link stands aside."""
    first = scene.bodies[0]
    slower = first.model_copy(update={"velocity": [round(first.velocity[0] * 0.2, 4), 0.0, 0.0]})
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    aside = link.model_copy(update={"place": [link.place[0], round(link.place[1] + 0.45, 4), link.place[2]]})
    return (slower, aside)


FAMILY = Family("chain", "a ball sets a row of bodies in motion, one after the other", draw, vary)
