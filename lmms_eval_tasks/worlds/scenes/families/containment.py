"""Balls are pushed over the edge of a shelf into a tray; some are too slow or too fast, and a box keeps some out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import (
    SMOOTH,
    Palette,
    SceneFamily,
    bystanders,
    changed,
    scenery,
    side,
    surroundings,
)
from lmms_eval_tasks.worlds.scenes.scene import GRAVITY, Body, Scene

EDGE = -0.15
"""Where the shelf ends, for scenes that go from left to right."""
HEAVY = 5.0
"""Kilograms of a box that keeps a ball out."""
KINDS = ("in", "in", "kept out", "too fast", "too slow")


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """One or two lanes over the shelf, each with one to three balls that push each other on."""
    palette = Palette(random)
    direction, high = side(random), float(random.uniform(0.34, 0.42))
    speed = float(random.uniform(1.25, 1.5))
    # A ball that leaves the shelf flies this far until it is as low as the tray's walls.
    flies = 0.85 * speed * float(np.sqrt(2 * (high - 0.14) / GRAVITY))
    middle = EDGE + flies + 0.1
    bodies = [
        scenery("brown shelf", "box", [0.55, 0.42, high / 2], [direction * (EDGE - 0.55), 0.0, high / 2], friction=0.0),
        scenery("grey tray", "tray", [0.24, 0.42, 0.07], [direction * middle, 0.0, 0.07], bounce=0.15, friction=0.8),
    ]
    lanes = 1 if random.random() < 0.35 else 2
    rows = [float(random.uniform(-0.1, 0.1))] if lanes == 1 else [-0.21, 0.21]
    depths = []
    for number, row in enumerate(rows):
        links = int(random.integers(1, 4 if lanes == 1 else 3))
        kind = KINDS[int(random.integers(4 + number))]
        bodies += _lane(random, palette, row, high, direction, speed, links, kind)
        depths.append(links + (kind == "kept out"))
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="containment",
        seed=seed,
        depth=max(depths),
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.72,))],
        **surroundings(random),
    )


def _lane(
    random: np.random.Generator,
    palette: Palette,
    row: float,
    high: float,
    direction: float,
    speed: float,
    links: int,
    kind: str,
) -> list[Body]:
    """The balls of a lane, the pushing one last, and what keeps them out."""
    radius = float(random.uniform(0.075, 0.085))
    end = EDGE - (0.38 if kind == "kept out" else 0.14)
    places = np.linspace(EDGE - 0.95, end, links) if links > 1 else [EDGE - 0.75]
    factor = {"too slow": 0.25, "too fast": 2.0}.get(kind, 1.0) * (1.0 + 0.06 * (links - 1))
    bodies = [
        palette.body(
            "ball",
            [radius],
            [direction * x, row, high + radius],
            velocity=[direction * speed * factor if number == 0 else 0.0, 0.0, 0.0],
            mass=0.4,
            friction=SMOOTH,
            bounce=0.9,
        )
        for number, x in enumerate(places)
    ]
    if kind == "kept out":
        half = float(random.uniform(0.09, 0.11))
        place = [direction * (EDGE - 0.13), row, high + half]
        bodies.append(palette.body("box", [0.08, half, half], place, mass=HEAVY, friction=0.8, bounce=0.3))
    return bodies


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """A ball is much slower or faster, or the box that keeps one out is so light that it does not."""
    pushers = [body for body in scene.bodies if any(body.velocity)]
    pusher = pushers[int(random.integers(len(pushers)))]
    boxes = [body for body in scene.bodies if body.mass == HEAVY]
    return [
        changed(pusher, velocity=[value * 0.2 for value in pusher.velocity]),
        changed(pusher, velocity=[value * 2.2 for value in pusher.velocity]),
        *(changed(box, mass=0.05) for box in boxes),
    ]


FAMILY = SceneFamily("containment", "balls are pushed from a shelf into a tray, or past it", draw, vary)
