"""Two chains side by side, which have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import SMOOTH, Palette, SceneFamily, changed, row_of, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One to three links in the longer chain, one or two in the other; at different times, either way."""
    palette = Palette(random)
    depth = int(random.integers(1, 4))
    other = int(random.integers(1, min(depth, 2) + 1))
    front = float(random.uniform(-0.38, -0.3))
    rows = [front, front + float(random.uniform(0.75, 0.85))]
    if random.random() < 0.5:
        rows.reverse()
    bodies = [
        body for links, row in zip((depth, other), rows, strict=True) for body in _row(random, palette, links, row)
    ]
    return Scene(
        id=scene_id,
        family="two_chains",
        seed=seed,
        depth=depth,
        distractors=other + 1,
        bodies=bodies,
        **surroundings(random),
    )


def _row(random: np.random.Generator, palette: Palette, links: int, row: float) -> list[Body]:
    direction, radius = side(random), float(random.uniform(0.10, 0.12))
    start = float(random.uniform(-1.2, -1.0))
    gap = (0.75 - start) / (links + 0.5)
    places = [direction * (start + gap * link + float(random.uniform(-0.06, 0.06))) for link in range(1, links + 1)]
    first = palette.body(
        "ball",
        [radius],
        [direction * start, row, radius],
        velocity=[direction * random.uniform(1.6, 2.8), 0.0, 0.0],
        mass=0.6,
        bounce=0.85,
        friction=SMOOTH,
    )
    return [first, *row_of(random, palette, places, row, radius, tips=0.4)]


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The first ball of one chain is too slow, or a body of the longer one too heavy or aside."""
    first, second = scene.bodies[0], scene.bodies[scene.depth + 1]
    slower, other = (changed(ball, velocity=[ball.velocity[0] * 0.15, 0.0, 0.0]) for ball in (first, second))
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    candidates = (slower, other, changed(link, mass=15.0))
    return [candidates[index] for index in random.permutation(3)]


FAMILY = SceneFamily("two_chains", "two chains side by side, which have nothing to do with each other", draw, vary)
