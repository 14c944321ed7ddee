"""A ball topples a row of upright boxes; in some scenes a gap, or a heavy box, ends the fall of the row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import Palette, SceneFamily, bystanders, changed, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

HALF = 0.17
"""Half the height of a box of the row."""
STEP, GAP = 0.2, 0.5
"""Metres between two boxes, and where the row is broken."""


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """Three to six boxes; the row is broken after the second or later in many scenes."""
    palette = Palette(random)
    direction, row = side(random), float(random.uniform(-0.15, 0.15))
    number = int(random.integers(3, 7))
    broken = str(random.choice(["no", "no", "gap", "gap", "heavy"])) if number > 3 else "no"
    at = int(random.integers(2, number)) if broken != "no" else number
    steps = [GAP if broken == "gap" and link == at else STEP for link in range(1, number)]
    places = np.concatenate([[0.0], np.cumsum(steps)])
    start = -places[-1] / 2 + 0.1
    half = HALF * float(random.uniform(0.95, 1.05))
    radius = float(random.uniform(0.14, 0.15))
    bodies = [
        palette.body(
            "ball",
            [radius],
            [direction * (start - random.uniform(0.45, 0.6)), row, radius],
            velocity=[direction * random.uniform(1.3, 1.7), 0.0, 0.0],
            mass=0.5,
            friction=0.3,
            bounce=0.3,
        )
    ]
    for link, x in enumerate(places):
        heavy = broken == "heavy" and link == at
        thick = 0.1 if heavy else 0.03
        place = [direction * (start + x + (0.07 if heavy else 0.0)), row, half]
        mass = 4.0 if heavy else 0.2
        bodies.append(palette.body("box", [thick, 0.1, half], place, mass=mass, friction=0.6, bounce=0.15))
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="dominoes",
        seed=seed,
        depth=at,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.7, 0.72))],
        **surroundings(random),
    )


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """The ball is too slow to topple the first box, a box of the row is heavy, or one stands aside."""
    ball = scene.bodies[0]
    row = scene.bodies[1 : len(scene.bodies) - scene.distractors]
    link = row[int(random.integers(1, scene.depth))]
    aside = changed(link, place=[link.place[0], link.place[1] + 0.35, link.place[2]])
    return [
        changed(ball, velocity=[value * 0.2 for value in ball.velocity]),
        changed(link, mass=link.mass * 40),
        aside,
    ]


FAMILY = SceneFamily("dominoes", "a row of upright boxes topples, as far as it reaches", draw, vary)
