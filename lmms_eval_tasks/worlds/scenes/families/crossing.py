"""A ball from the side and one from the front, each towards bodies of its own: a family to train on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import SMOOTH, Palette, SceneFamily, changed, row_of, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One or two bodies in the way of the ball from the side, a box that tips in the way of the other."""
    palette = Palette(random)
    depth = int(random.integers(1, 3))
    direction = side(random)
    back = float(random.uniform(0.35, 0.5))
    from_side = palette.body(
        "ball",
        [0.12],
        [-1.15 * direction, back, 0.12],
        velocity=[direction * random.uniform(1.8, 2.8), 0.0, 0.0],
        mass=0.6,
        bounce=0.85,
        friction=SMOOTH,
    )
    places = [direction * (-0.4 + 0.6 * link + float(random.uniform(-0.06, 0.06))) for link in range(depth)]
    in_row = row_of(random, palette, places, back, 0.12, tips=0.4)
    x = float(random.uniform(0.5, 0.8)) * -direction
    from_front = palette.body(
        "ball", [0.1], [x, -1.0, 0.1], velocity=[0.0, float(random.uniform(1.4, 2.2)), 0.0], mass=0.6
    )
    half = float(random.uniform(0.14, 0.18))
    tips = palette.body(
        "box", [0.09, 0.04, half], [x, float(random.uniform(-0.4, -0.3)), half], mass=0.12, friction=0.8
    )
    return Scene(
        id=scene_id,
        family="crossing",
        seed=seed,
        depth=depth,
        distractors=2,
        bodies=[from_side, *in_row, from_front, tips],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The ball from the side is too slow."""
    first = scene.bodies[0]
    return (changed(first, velocity=[first.velocity[0] * 0.15, 0.0, 0.0]),)


FAMILY = SceneFamily(
    "crossing",
    "a ball from the side and one from the front, each towards bodies of its own",
    draw,
    vary,
    for_training=True,
)
