"""Which bodies touch each other at the start, by their boxes: no event says so."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.worlds.engine.scene import Body, Scene

NEAR = 0.015
"""Metres between two bodies below which they touch."""


def touching_at_start(scene: Scene) -> list[set[str]]:
    """Pairs of bodies whose boxes along the world's axes touch or overlap at the start; scenery is left out."""
    actors = [body for body in scene.bodies if not body.scenery]
    return [
        {one.name, other.name}
        for one, other in combinations(actors, 2)
        if np.all(np.abs(np.subtract(one.place, other.place)) < _reach(one) + _reach(other) + NEAR)
    ]


def _reach(body: Body) -> NDArray[np.float64]:
    """Half the extent of a body along x, y and z, in metres."""
    sizes = {1: body.size * 3, 2: [body.size[0], *body.size]}.get(len(body.size), body.size)
    reach: NDArray[np.float64] = np.abs(_rotation(body.turn)) @ np.array(sizes)
    return reach if body.shape != "ball" else np.array(sizes)


def _rotation(turn: list[float]) -> NDArray[np.float64]:
    """The rotation about the world's x, then y, then z, by degrees."""
    rotation = np.eye(3)
    for axis, angle in enumerate(np.radians(turn)):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3)
        step[one, one] = step[other, other] = np.cos(angle)
        step[other, one], step[one, other] = np.sin(angle), -np.sin(angle)
        rotation = step @ rotation
    return rotation
