"""Bodies on a ramp: balls roll down, boxes slide if their friction is low, and they hit what lies at the foot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import (
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

LENGTH, THICK = 0.5, 0.02
"""Half the length and half the thickness of the ramp."""
STICKS = 0.9
"""The friction of a box that stays where it is."""


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One or two lanes down a ramp, each with one to three bodies at its foot."""
    palette = Palette(random)
    direction, angle = side(random), float(random.uniform(22.0, 28.0))
    slope = np.radians(angle)
    # The ramp's upper face meets the floor at x = -0.25 of scenes that go from left to right.
    foot = -0.25
    middle = [foot - LENGTH * np.cos(slope) - THICK * np.sin(slope), LENGTH * np.sin(slope) - THICK * np.cos(slope)]
    top = 2 * LENGTH * np.sin(slope)
    bodies = [
        scenery(
            "brown ramp",
            "ramp",
            [LENGTH, 0.36, THICK],
            [direction * middle[0], 0.0, middle[1]],
            turn=[0.0, direction * angle, 0.0],
            friction=0.0,
        ),
        scenery(
            "grey post",
            "box",
            [0.05, 0.3, top / 2 - 0.05],
            [direction * (foot - 1.9 * LENGTH * np.cos(slope)), 0.0, top / 2 - 0.05],
        ),
    ]
    rows = [float(random.uniform(-0.1, 0.1))] if random.random() < 0.4 else [-0.2, 0.2]
    depths = []
    for number, row in enumerate(rows):
        kind = ("ball", "sliding box", "sticking box")[int(random.integers(2 + number))]
        links = int(random.integers(1, 4)) if kind == "ball" else int(random.integers(1, 3))
        up = float(random.uniform(0.6, 0.8)) * 2 * LENGTH
        bodies.append(_runner(random, palette, kind, row, direction, slope, foot, up))
        places = [direction * (foot + 0.3 + 0.38 * link + random.uniform(0.0, 0.04)) for link in range(links)]
        bodies += row_of(random, palette, places, row, 0.1, tips=0.3)
        depths.append(links if kind != "sticking box" else 0)
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="ramp",
        seed=seed,
        depth=max(depths),
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.7,))],
        **surroundings(random),
    )


def _runner(
    random: np.random.Generator,
    palette: Palette,
    kind: str,
    row: float,
    direction: float,
    slope: float,
    foot: float,
    up: float,
) -> Body:
    """The body that lies `up` metres along the ramp from its foot."""
    size = float(random.uniform(0.085, 0.1))
    x = foot - up * np.cos(slope) + size * np.sin(slope)
    z = up * np.sin(slope) + size * np.cos(slope)
    place = [direction * x, row, z]
    if kind == "ball":
        return palette.body("ball", [size], place, mass=0.7, bounce=0.8, friction=0.5)
    friction = STICKS if kind == "sticking box" else float(random.uniform(0.06, 0.12))
    turn = [0.0, direction * float(np.degrees(slope)), 0.0]
    return palette.body("box", [size] * 3, place, turn=turn, mass=0.8, bounce=0.3, friction=friction)


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """A box has more or less friction, a runner stands lower on the ramp, or what it hits is too heavy to be moved."""
    runners = [body for body in scene.bodies if not body.scenery and body.place[2] > 0.2]
    boxes = [body for body in runners if body.shape == "box"]
    order = [body for body in scene.bodies if not body.scenery]
    hit = order[order.index(runners[0]) + 1]
    return [
        *(changed(box, friction=STICKS if box.friction != STICKS else 0.1) for box in boxes),
        changed(hit, mass=hit.mass * 20),
        changed(hit, place=[hit.place[0], hit.place[1] - 0.4, hit.place[2]]),
    ]


FAMILY = SceneFamily("ramp", "bodies roll or slide down a ramp, or stick, and hit what is at its foot", draw, vary)
