"""Scenes in which a second cause stands ready: without the first, the event would have happened all the same."""

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
    side,
    surroundings,
)
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One link: a ball hits another; a third comes later to where that one lay."""
    palette = Palette(random)
    depth = int(random.integers(1, 3))
    bodies = _late(random, palette) if depth == 1 else _row(random, palette)
    distractors = int(random.integers(0, 3))
    sides = (-0.8, -0.75) if bodies[-1].place[1] > 0.3 else (0.8, 0.75)
    others = bystanders(random, palette, distractors, sides, away_from=[bodies[-1].place[0]] if depth == 1 else [])
    return Scene(
        id=scene_id,
        family="backup",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *others],
        **surroundings(random),
    )


def _row(random: np.random.Generator, palette: Palette) -> list[Body]:
    direction, row = side(random), float(random.uniform(-0.15, 0.15))
    radius = float(random.uniform(0.11, 0.13))
    first = palette.body(
        "ball",
        [radius],
        [-1.15 * direction, row, radius],
        velocity=[direction * random.uniform(2.0, 2.6), 0.0, 0.0],
        mass=0.6,
        bounce=0.85,
        friction=SMOOTH,
    )
    places = [direction * float(x) for x in (random.uniform(-0.4, -0.2), random.uniform(0.35, 0.6))]
    return [first, *row_of(random, palette, places, row, radius, tips=0.6)]


def _late(random: np.random.Generator, palette: Palette) -> list[Body]:
    """A ball that hits another from the side, and one that comes from behind or from the front when it has gone."""
    direction, x = side(random), float(random.uniform(-0.2, 0.2))
    radius = float(random.uniform(0.11, 0.13))
    target = row_of(random, palette, [x], 0.0, radius, tips=0.0)[0]
    speed, way = float(random.uniform(2.2, 2.8)), float(random.uniform(0.7, 0.85))
    rest = {"bounce": 0.85, "friction": SMOOTH}
    first = palette.body(
        "ball",
        [radius],
        [x - direction * way, 0.0, radius],
        velocity=[direction * speed, 0.0, 0.0],
        mass=0.35,
        **rest,
    )
    # So far away that it comes where the target lay when that one is gone.
    later, behind = float(random.uniform(0.45, 0.6)), side(random)
    slow = float(random.uniform(1.2, 1.5))
    far = min(slow * ((way - 2 * radius) / speed + later), 0.95)
    second = palette.body(
        "ball", [radius], [x, behind * far, radius], velocity=[0.0, -behind * slow, 0.0], mass=0.5, **rest
    )
    return [first, target, second]


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The first ball is too slow, comes along another line, or the one in the middle is too heavy to go on."""
    first, middle = scene.bodies[0], scene.bodies[1]
    slower = changed(first, velocity=[first.velocity[0] * 0.2, 0.0, 0.0])
    aside = changed(first, place=[first.place[0], first.place[1] + 0.4 * side(random), first.place[2]])
    heavy = changed(middle, mass=12.0)
    candidates = (slower, aside, heavy)
    return [candidates[index] for index in random.permutation(3)]


FAMILY = SceneFamily("backup", "what one body does another would have done in its place", draw, vary)
