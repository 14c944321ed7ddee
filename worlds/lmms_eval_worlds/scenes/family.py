"""The skeleton of a family of scenes, and what all families draw alike: colours, cameras, floors, bystanders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmms_eval_worlds.scenes.scene import COLOURS, FLOORS, Body, Camera, Scene


@dataclass(frozen=True)
class SceneFamily:
    name: str
    draw: Callable[[str, int, np.random.Generator], Scene]
    vary: Callable[[Scene, np.random.Generator], Sequence[Body]]
    for_training: bool = False


@dataclass(frozen=True)
class Drawing:
    """The bodies of a scene, those that have no part last; `depth` is the number of links of its longest chain."""

    depth: int
    bodies: Sequence[Body]
    distractors: int
    moving_share: float = 0.3


def family_of(
    compose: Callable[[np.random.Generator, Palette], Drawing],
    vary: Callable[[Scene, np.random.Generator], Sequence[Body]],
    for_training: bool = False,
) -> SceneFamily:
    """Return the family, called as the function that composes its scenes; floor, light and camera are drawn last."""
    name = compose.__name__

    def draw(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
        drawn = compose(random, Palette(random))
        fields: dict[str, Any] = {"depth": drawn.depth, "distractors": drawn.distractors, "bodies": [*drawn.bodies]}
        return Scene(id=scene_id, family=name, seed=seed, **fields, **surroundings(random, drawn.moving_share))

    return SceneFamily(name, draw, vary, for_training)


SMOOTH = 0.15
"""The friction of balls that pass on their motion: one that has spin rolls on after a collision."""
PASSES_ON = {"mass": 0.6, "bounce": 0.85, "friction": SMOOTH}
ACTORS = tuple(colour for colour in COLOURS if colour not in ("grey", "brown"))
"""Colours of bodies that questions are about."""


class Palette:
    """Gives each body of a scene a colour that no other has, so that its name is its own."""

    def __init__(self, random: np.random.Generator) -> None:
        self._left = [ACTORS[index] for index in random.permutation(len(ACTORS))]

    def body(self, shape: str, size: Sequence[float], place: Sequence[float], **rest: Any) -> Body:
        """A body of the next colour, called by colour and shape."""
        return named_body(f"{self._left.pop()} {shape}", shape, size, place, **rest)

    def ball(self, radius: float, x: float, y: float, velocity: Sequence[float] = (), **rest: Any) -> Body:
        """A ball on the floor, which passes its motion on if nothing else is said."""
        moving = {"velocity": [*velocity, 0.0]} if velocity else {}
        return self.body("ball", [radius], [x, y, radius], **{**moving, **PASSES_ON, **rest})


def scenery(name: str, shape: str, size: Sequence[float], place: Sequence[float], **rest: Any) -> Body:
    """A part of the scenery, grey or brown, that stands still."""
    return named_body(name, shape, size, place, moves="not at all", scenery=True, **rest)


def named_body(name: str, shape: str, size: Sequence[float], place: Sequence[float], **rest: Any) -> Body:
    """A body whose name begins with its colour, all its numbers rounded."""
    fields = {"size": list(map(float, size)), "place": list(map(float, place)), **rest}
    named = {"name": name, "shape": shape, "colour": name.split()[0]}
    return Body.model_validate({**named, **{key: _rounded(value) for key, value in fields.items()}})


def surroundings(random: np.random.Generator, moving_share: float = 0.3) -> dict[str, Any]:
    """Fields of a scene that show it and do not change what happens: floor, light and camera."""
    angle = random.uniform(-0.25, 0.25)
    far, high = random.uniform(2.7, 3.1), random.uniform(1.4, 1.9)
    place = [round(float(far * np.sin(angle)), 3), round(float(-far * np.cos(angle)), 3), round(float(high), 3)]
    travel = (
        round(float(random.choice([-1, 1]) * random.uniform(0.3, 0.5)), 3) if random.random() < moving_share else 0.0
    )
    light = [round(float(value), 3) for value in (random.uniform(-1.2, 1.2), random.uniform(-1.5, -0.5), 3.0)]
    return {
        "floor": FLOORS[int(random.integers(len(FLOORS)))],
        "light": light,
        "camera": Camera(place=place, target=[0.0, 0.0, 0.15], travel=travel),
    }


def with_bystanders(
    random: np.random.Generator,
    palette: Palette,
    depth: int,
    bodies: Sequence[Body],
    sides: Sequence[float],
    away_from: Sequence[float] = (),
    moving_share: float = 0.3,
) -> Drawing:
    """A drawing with up to two bodies more that have no part: they lie still at the sides (y), apart along x."""
    free = [x for x in np.linspace(-1.0, 1.0, 9) if all(abs(x - place) > 0.45 for place in away_from)]
    found: list[Body] = []
    for _ in range(int(random.integers(0, 3))):
        apart = [x for x in free if all(abs(x - body.place[0]) > 0.35 for body in found)]
        x = apart[int(random.integers(len(apart)))] + random.uniform(-0.05, 0.05)
        size = random.uniform(0.08, 0.13)
        shape = ("ball", "box", "cylinder")[int(random.integers(3))]
        sizes = {"ball": [size], "box": [size] * 3, "cylinder": [size * 0.8, size]}[shape]
        found.append(palette.body(shape, sizes, [x, sides[int(random.integers(len(sides)))], size]))
    return Drawing(depth, [*bodies, *found], len(found), moving_share)


def side(random: np.random.Generator) -> float:
    """-1 or 1: from the left or from the right."""
    return float(random.choice([-1.0, 1.0]))


def row_of(
    random: np.random.Generator,
    palette: Palette,
    places: Sequence[float],
    row: float,
    radius: float,
    tips: float = 0.3,
) -> list[Body]:
    """Balls at rest on the floor, at these places along x; in a share of rows the last is a box that tips when hit."""
    bodies = []
    for x in places:
        if x == places[-1] and random.random() < tips:
            half = radius * random.uniform(1.1, 1.25)
            bodies.append(palette.body("box", [0.04, 0.10, half], [x, row, half], mass=0.12, friction=0.8))
        else:
            size = radius * random.uniform(0.92, 1.0)
            bodies.append(palette.ball(size, x, row))
    return bodies


def changed(body: Body, **fields: Any) -> Body:
    return Body.model_validate({**body.model_dump(), **{name: _rounded(value) for name, value in fields.items()}})


def slowed(body: Body, share: float) -> Body:
    """A body with a share of its velocity."""
    return changed(body, velocity=[value * share for value in body.velocity])


def aside(body: Body, by: float) -> Body:
    """A body that is `by` metres further back."""
    return changed(body, place=[body.place[0], body.place[1] + by, body.place[2]])


def shuffled(random: np.random.Generator, *bodies: Body) -> list[Body]:
    return [bodies[index] for index in random.permutation(len(bodies))]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(float(value), 4)
    if isinstance(value, (list, tuple)):
        return [_rounded(entry) for entry in value]
    return value
