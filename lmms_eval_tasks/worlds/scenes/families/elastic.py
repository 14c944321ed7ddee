"""Balls that lose nothing: without friction, and thrown back whole. Forwards and backwards look alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import Palette, SceneFamily, bystanders, changed, scenery, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

_WHOLE = {"friction": 0.0, "bounce": 1.0}


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One to three links in a row, of balls of one mass or of a heavy first one; a wall at the end in half of them."""
    palette = Palette(random)
    depth = int(random.integers(1, 4))
    direction, row = side(random), float(random.uniform(-0.15, 0.15))
    radius = float(random.uniform(0.10, 0.13))
    gap = float(random.uniform(0.5, 0.62)) if depth > 1 else float(random.uniform(0.6, 0.9))
    bodies = []
    for link in range(depth + 1):
        x = direction * (-1.1 + gap * link + (float(random.uniform(-0.04, 0.04)) if link else 0.0))
        fast = direction * float(random.uniform(0.9, 1.3)) if link == 0 else 0.0
        mass = 1.5 if link == 0 and random.random() < 0.3 else 0.6
        bodies.append(palette.body("ball", [radius], [x, row, radius], velocity=[fast, 0.0, 0.0], mass=mass, **_WHOLE))
    if random.random() < 0.5:
        bodies.append(scenery("grey wall", "wall", [0.03, 0.35, 0.12], [direction * 1.15, row, 0.12], **_WHOLE))
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="elastic",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.7, 0.75))],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The first ball is too slow, a link is too heavy to go on, or one is aside."""
    first = scene.bodies[0]
    slower = changed(first, velocity=[first.velocity[0] * 0.05, 0.0, 0.0])
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    aside = changed(link, place=[link.place[0], link.place[1] + 0.4 * side(random), link.place[2]])
    heavy = changed(link, mass=40.0)
    # What cannot be seen at the start comes first.
    return (slower, heavy, aside) if random.random() < 0.5 else (heavy, slower, aside)


FAMILY = SceneFamily("elastic", "balls that lose nothing, so that time could run either way", draw, vary)
