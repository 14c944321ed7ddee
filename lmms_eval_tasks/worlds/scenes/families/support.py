"""Something lies on a column or on a plank between two; a ball knocks a column away, or passes by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import Palette, SceneFamily, bystanders, changed, row_of, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One link: the ball misses the column and hits another ball."""
    palette = Palette(random)
    depth = int(random.choice([1, 2, 2, 3, 3]))
    direction, x = side(random), float(random.uniform(-0.15, 0.15))
    half = float(random.uniform(0.12, 0.14))
    bodies: list[Body] = []
    if depth == 3:
        bodies += _bridge(random, palette, x, half, direction)
        speed = float(random.uniform(2.2, 2.8))
        away = float(random.uniform(0.75, 0.9))
        ball = ([x, -away, half], [0.0, speed, 0.0])
    else:
        bodies += _tower(random, palette, x, half)
        speed = float(random.uniform(2.4, 3.0))
        aside = float(random.choice([-0.45, 0.45])) if depth == 1 else 0.0
        ball = ([x - direction * random.uniform(0.8, 0.95), aside, half], [direction * speed, 0.0, 0.0])
        if depth == 1:
            bodies += row_of(random, palette, [x + direction * random.uniform(0.5, 0.7)], aside, half, tips=0.0)
    place, velocity = ball
    pusher = palette.body("ball", [half * 0.95], place, velocity=velocity, mass=0.6, bounce=0.85, friction=0.1)
    pusher = changed(pusher, place=[*pusher.place[:2], pusher.size[0]])
    distractors = int(random.integers(0, 3))
    others = bystanders(random, palette, distractors, (-0.7, 0.75), away_from=[x] if depth == 3 else [])
    return Scene(
        id=scene_id,
        family="support",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[pusher, *bodies, *others],
        **surroundings(random),
    )


def _column(random: np.random.Generator, palette: Palette, x: float, half: float) -> Body:
    """A column that slides away when a ball hits it."""
    wide = float(random.uniform(0.09, 0.11))
    shape, size = ("box", [wide, wide, half]) if random.random() < 0.5 else ("cylinder", [wide, half])
    return palette.body(shape, size, [x, 0.0, half], mass=1.0, bounce=0.85, friction=0.18)


def _load(random: np.random.Generator, palette: Palette, x: float, top: float) -> Body:
    size = float(random.uniform(0.07, 0.085))
    shape, sizes = ("box", [size] * 3) if random.random() < 0.5 else ("cylinder", [size, size])
    return palette.body(shape, sizes, [x, 0.0, top + size], mass=0.2, friction=0.15, bounce=0.15)


def _tower(random: np.random.Generator, palette: Palette, x: float, half: float) -> list[Body]:
    column = _column(random, palette, x, half)
    return [column, _load(random, palette, x, 2 * column.place[2])]


def _bridge(random: np.random.Generator, palette: Palette, x: float, half: float, direction: float) -> list[Body]:
    """A plank on two columns, of which the one at `x` is hit, and what lies on it above that one."""
    span = direction * float(random.uniform(0.55, 0.65))
    hit, other = _column(random, palette, x, half), _column(random, palette, x + span, half)
    other = changed(other, mass=2.0, friction=0.8)
    top = 2 * hit.place[2]
    plank = palette.body(
        "plank",
        [abs(span) / 2 + 0.1, 0.07, 0.02],
        [x + span / 2, 0.0, top + 0.02],
        mass=0.3,
        friction=0.25,
        bounce=0.15,
    )
    return [hit, plank, _load(random, palette, x + span * 0.15, top + 0.04), other]


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The ball is too slow to get there, the column too heavy to give way, or the ball comes along another line."""
    ball, column = scene.bodies[0], scene.bodies[1]
    slow = changed(ball, velocity=[value * 0.2 for value in ball.velocity])
    heavy = changed(column, mass=column.mass * 15)
    along = 1 if ball.velocity[0] else 0
    place = list(ball.place)
    place[along] += 0.4 if scene.depth == 3 else (-place[1] or 0.45)
    return (slow, heavy, changed(ball, place=place))


FAMILY = SceneFamily("support", "a ball knocks away what something lies on, or passes by", draw, vary)
