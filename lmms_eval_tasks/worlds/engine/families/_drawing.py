"""What all families draw alike: names, colours, cameras, floors, light and bodies that have no part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmms_eval_tasks.worlds.engine.scene import COLOURS, FLOORS, Body, Camera

ACTORS = tuple(colour for colour in COLOURS if colour not in ("grey", "brown"))
"""Colours of bodies that questions are about."""


class Palette:
    """Gives each body of a scene a colour that no other has, so that its name is its own."""

    def __init__(self, random: np.random.Generator) -> None:
        """Shuffle the colours."""
        self._left = [ACTORS[index] for index in random.permutation(len(ACTORS))]

    def body(self, shape: str, size: Sequence[float], place: Sequence[float], **rest: Any) -> Body:
        """A body of the next colour, called by colour and shape."""
        colour = self._left.pop()
        return Body.model_validate(
            {
                "name": f"{colour} {shape}",
                "shape": shape,
                "colour": colour,
                "size": [round(float(value), 4) for value in size],
                "place": [round(float(value), 4) for value in place],
                **{name: _rounded(value) for name, value in rest.items()},
            }
        )


def scenery(name: str, shape: str, size: Sequence[float], place: Sequence[float], **rest: Any) -> Body:
    """A part of the scenery, grey or brown, that stands still."""
    return Body.model_validate(
        {
            "name": name,
            "shape": shape,
            "colour": name.split()[0],
            "size": [round(float(value), 4) for value in size],
            "place": [round(float(value), 4) for value in place],
            "moves": "not at all",
            "scenery": True,
            **{key: _rounded(value) for key, value in rest.items()},
        }
    )


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


def bystanders(random: np.random.Generator, palette: Palette, number: int, sides: Sequence[float]) -> list[Body]:
    """Bodies that have no part: they lie still, each at one of the sides (y), apart from each other along x."""
    places = np.linspace(-1.1, 1.1, 2 * number + 1)[1::2]
    found = []
    for x in places:
        size = random.uniform(0.08, 0.13)
        shape = ("ball", "box", "cylinder")[int(random.integers(3))]
        sizes = {"ball": [size], "box": [size] * 3, "cylinder": [size * 0.8, size]}[shape]
        height = size
        side = sides[int(random.integers(len(sides)))]
        found.append(palette.body(shape, sizes, [x + random.uniform(-0.1, 0.1), side, height]))
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(float(value), 4)
    if isinstance(value, (list, tuple)):
        return [_rounded(entry) for entry in value]
    return value
