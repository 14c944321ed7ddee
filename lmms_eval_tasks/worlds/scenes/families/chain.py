"""A chain of bodies, each of which the one before it sets in motion; it turns at each link, so that each is needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.worlds.scenes.family import SMOOTH, Palette, SceneFamily, bystanders, changed, side, surroundings
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

_STEP = {2: 0.74, 3: 0.58, 4: 0.48}
"""Metres from one body to the next, by the number of links."""


def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """Two to four links from left to right or from right to left; the last body is a ball or stands and may tip."""
    palette = Palette(random)
    depth = int(random.integers(2, 5))
    direction, turning = side(random), side(random)
    radius = float(random.uniform(0.125, 0.14))
    step = _STEP[depth]
    wide = {2: 0.50, 3: 0.64, 4: 0.70}[depth] + float(random.uniform(-0.03, 0.03))
    # The ball comes along x, then its way and those of the others turn to and fro.
    angles = [0.0] + [turning * wide * (link % 2) for link in range(1, depth + 1)]
    place = np.array([-1.2 if depth > 2 else -1.1, -turning * (0.25 if depth > 2 else 0.15)])
    ways = [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
    places = [place]
    for link in range(depth):
        run = step * float(random.uniform(0.97, 1.03)) - 2 * radius
        place = place + run * ways[link] + 2 * radius * ways[link + 1]
        places.append(place)
    fast = 1.0 if depth < 4 else 1.15
    bodies = []
    for link, (x, y) in enumerate(places):
        velocity = [direction * float(random.uniform(2.8, 3.4)) * fast, 0.0, 0.0] if link == 0 else [0.0, 0.0, 0.0]
        if link == depth and random.random() < 0.4:
            bodies.append(_standing(random, palette, [direction * x, y], radius, direction * angles[link - 1]))
        else:
            bodies.append(
                palette.body(
                    "ball",
                    [radius],
                    [direction * x, y, radius],
                    velocity=velocity,
                    mass=0.8 * 0.8**link,
                    bounce=0.9,
                    friction=SMOOTH,
                )
            )
    distractors = int(random.integers(0, 3))
    return Scene(
        id=scene_id,
        family="chain",
        seed=seed,
        depth=depth,
        distractors=distractors,
        bodies=[*bodies, *bystanders(random, palette, distractors, (-0.75, 0.85))],
        **surroundings(random),
    )


def _standing(
    random: np.random.Generator, palette: Palette, place: Sequence[float], radius: float, angle: float
) -> Body:
    """A box whose flat side faces what comes along an angle."""
    half = float(radius * random.uniform(1.2, 1.4))
    turn = [0.0, 0.0, float(np.degrees(angle))]
    return palette.body("box", [0.04, 0.12, half], [*place, half], turn=turn, mass=0.1, friction=0.8)


def vary(scene: Scene, random: np.random.Generator) -> Sequence[Body]:
    """A link is too heavy to go on, the first ball too slow, or a link stands aside."""
    first = scene.bodies[0]
    link = scene.bodies[int(random.integers(1, scene.depth + 1))]
    aside = changed(link, place=[link.place[0], link.place[1] + 0.4 * side(random), link.place[2]])
    heavy = changed(scene.bodies[int(random.integers(1, scene.depth))], mass=12.0)
    slower = changed(first, velocity=[first.velocity[0] * 0.2, 0.0, 0.0])
    candidates = (heavy, slower, aside)
    return [candidates[index] for index in random.permutation(3)]


FAMILY = SceneFamily("chain", "a ball sets a chain of bodies in motion, one after the other", draw, vary)
