"""A ball rolls into a stack of boxes, and beside it another ball into a third: a family to train on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import SMOOTH, Palette, SceneFamily, changed, row_of, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """Two or three boxes on each other; the ball hits the lowest fast or all too slowly."""
    palette = Palette(random)
    boxes = int(random.integers(2, 4))
    rows = [float(random.uniform(-0.45, -0.35)), float(random.uniform(0.4, 0.5))]
    if random.random() < 0.5:
        rows.reverse()
    direction, half = side(random), float(random.uniform(0.09, 0.11))
    speed = float(random.uniform(2.6, 3.4))
    ball = palette.body(
        "ball", [0.12], [-1.15 * direction, rows[0], 0.12], velocity=[speed * direction, 0.0, 0.0], mass=1.0
    )
    tower = [
        palette.body(
            "box", [half] * 3, [0.15 * direction, rows[0], half * (2 * place + 1)], mass=0.25, friction=0.3, bounce=0.1
        )
        for place in range(boxes)
    ]
    other = side(random)
    start = palette.body(
        "ball",
        [0.11],
        [-1.1 * other, rows[1], 0.11],
        velocity=[other * random.uniform(1.6, 2.6), 0.0, 0.0],
        mass=0.6,
        bounce=0.85,
        friction=SMOOTH,
    )
    beside = [start, *row_of(random, palette, [float(random.uniform(-0.2, 0.3)) * other], rows[1], 0.11)]
    return Scene(
        id=scene_id,
        family="stack",
        seed=seed,
        depth=boxes,
        distractors=len(beside),
        bodies=[ball, *tower, *beside],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The ball is too slow."""
    first = scene.bodies[0]
    return (changed(first, velocity=[first.velocity[0] * 0.15, 0.0, 0.0]),)


FAMILY = SceneFamily(
    "stack",
    "a ball rolls into a stack of boxes, and beside it another ball into a third",
    draw,
    vary,
    for_training=True,
)
