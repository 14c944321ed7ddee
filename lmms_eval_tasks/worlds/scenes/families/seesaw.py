"""A body drops on the raised end of a plank that turns about its middle, and the other end lifts what lies on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import Palette, SceneFamily, bystanders, changed, scenery, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

LONG, THICK, HIGH = 0.6, 0.02, 0.17
"""Half the plank's length and thickness, and how high its hinge is."""
POST = 0.62
"""Metres from the hinge to the post that keeps a ball on the plank."""


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One link: what drops is too light."""
    palette = Palette(random)
    direction, row = side(random), float(random.uniform(-0.1, 0.1))
    depth = int(random.choice([1, 2, 2, 3]))
    tilt = float(np.arcsin((HIGH - THICK) / LONG)) * 0.98
    angle = -direction * float(np.degrees(tilt))
    x = float(random.uniform(-0.15, 0.15))
    # The end on the side of `direction` is raised.
    plank = palette.body(
        "plank",
        [LONG, 0.13, THICK],
        [x, row, HIGH],
        turn=[0.0, angle, 0.0],
        mass=0.6,
        friction=0.9,
        bounce=0.15,
        moves="about its hinge",
        hinge={"point": [round(x, 4), round(row, 4), HIGH], "axis": "y"},
    )
    bodies = [scenery("brown foot", "wall", [0.03, 0.14, 0.06], [x, row, 0.06]), plank]
    for number in range(1 if depth == 3 else int(random.integers(1, 3))):
        size = float(random.uniform(0.075, 0.09))
        if depth == 3:
            # The post is beyond the plank's end, and the ball lies against it.
            out = (POST - size - (THICK + size) * np.sin(tilt)) / np.cos(tilt)
            place = _on_plank(x, row, -direction * out, size, direction * tilt)
            bodies.append(palette.body("ball", [size], place, mass=0.35, friction=0.5, bounce=0.2))
            post = [x - direction * (POST + 0.03), row, 0.1]
            bodies.append(scenery("grey post", "wall", [0.03, 0.05, 0.1], post, friction=0.0))
        else:
            place = _on_plank(x, row, -direction * (0.48 - 0.3 * number), size, direction * tilt)
            bodies.append(_box_on(random, palette, size, place, angle, mass=0.35))
    size = float(random.uniform(0.085, 0.1))
    above = _on_plank(x, row, direction * 0.48, size, direction * tilt)
    above[2] += float(random.uniform(0.12, 0.25))
    bodies.append(_box_on(random, palette, size, above, angle, mass=0.1 if depth == 1 else random.uniform(1.5, 1.9)))
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="seesaw",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.65, 0.7))],
        **surroundings(random),
    )


def _on_plank(x: float, row: float, out: float, size: float, tilt: float) -> list[float]:
    """The centre of a body that lies `out` metres from the middle of a plank that rises by `tilt` along x."""
    along, over = np.array([np.cos(tilt), np.sin(tilt)]), np.array([-np.sin(tilt), np.cos(tilt)])
    middle = np.array([x, HIGH]) + out * along + (THICK + size) * over
    return [float(middle[0]), row, float(middle[1])]


def _box_on(
    random: np.random.Generator, palette: Palette, size: float, place: Sequence[float], angle: float, mass: float
) -> Body:
    """A box or a cylinder that stands on the plank, or above it."""
    shape, sizes = ("box", [size] * 3) if random.random() < 0.5 else ("cylinder", [size, size])
    return palette.body(shape, sizes, place, turn=[0.0, angle, 0.0], mass=mass, friction=0.9, bounce=0.15)


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """Return variants: the dropped body light or heavy, or the first load heavy."""
    actors = [body for body in scene.bodies if not body.scenery]
    load = actors[1]
    dropped = max(actors[: len(actors) - scene.distractors], key=lambda body: body.place[2])
    return [
        changed(dropped, mass=0.1 if dropped.mass > 1.0 else 2.2),
        changed(load, mass=load.mass * 20),
    ]


FAMILY = SceneFamily("seesaw", "a body drops on one end of a plank, whose other end lifts what lies there", draw, vary)
