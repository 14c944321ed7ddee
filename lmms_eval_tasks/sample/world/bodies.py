"""Bodies, walls and the laws that move them. Units: pixels, seconds, x to the right, y downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Vec = tuple[float, float]
Shape = Literal["ball", "block"]
SHAPES: tuple[Shape, ...] = ("ball", "block")


Waypoint = tuple[float, float, float]
"""A stop on a scripted path: time, x and y of the body's centre; straight lines in between."""


@dataclass(frozen=True)
class FlatBody:
    """A disc (`size` = radius) or an upright square (`size` = half its side) that does not turn."""

    name: str
    shape: Shape
    size: float
    position: Vec
    velocity: Vec = (0.0, 0.0)
    path: tuple[Waypoint, ...] = ()
    kinematic: bool = False
    arm: Vec | None = None
    vanishes_at: float = math.inf
    passes_through: frozenset[str] = frozenset()

    @property
    def reach(self) -> Vec:
        """Half its width and half its height."""
        return self.size, self.size


def scripted(name: str, shape: Shape, size: float, path: Sequence[Waypoint], arm: Vec | None = None) -> FlatBody:
    """A body that moves along a path whatever it meets."""
    return FlatBody(name, shape, size, path[0][1:], path=tuple(path), kinematic=True, arm=arm)


@dataclass(frozen=True)
class Wall:
    """An immovable bar from `start` to `end` with round ends; `half_width` is half its thickness."""

    name: str
    start: Vec
    end: Vec
    half_width: float = 2.0

    @property
    def position(self) -> Vec:
        """Its middle."""
        return (self.start[0] + self.end[0]) / 2, (self.start[1] + self.end[1]) / 2

    @property
    def reach(self) -> Vec:
        """Half the width and half the height of the box around it."""
        (x1, y1), (x2, y2) = self.start, self.end
        return abs(x2 - x1) / 2 + self.half_width, abs(y2 - y1) / 2 + self.half_width


@dataclass(frozen=True)
class Laws:
    """Constants of a world: accelerations in px/s², restitution coefficients in 0..1."""

    gravity: float
    table_friction: float
    rolling_friction: float
    bounce: float
    wall_bounce: float


TOP_VIEW = Laws(gravity=0.0, table_friction=30.0, rolling_friction=0.0, bounce=0.9, wall_bounce=0.85)
SIDE_VIEW = Laws(gravity=100.0, table_friction=0.0, rolling_friction=0.0, bounce=0.6, wall_bounce=0.35)
SIDE_VIEW_ROUGH = replace(SIDE_VIEW, rolling_friction=30.0)


@dataclass(frozen=True)
class FlatWorld:
    """Everything that decides how a scene unfolds."""

    laws: Laws
    bodies: tuple[FlatBody, ...]
    walls: tuple[Wall, ...] = ()

    def body(self, name: str) -> FlatBody:
        """The body called `name`; KeyError when there is none."""
        return {body.name: body for body in self.bodies}[name]

    def without(self, *names: str) -> FlatWorld:
        """This world with the bodies of these names left out."""
        return replace(self, bodies=tuple(body for body in self.bodies if body.name not in names))

    def changing(self, name: str, **changes: Any) -> FlatWorld:
        """This world with other values in some fields of the body called `name`."""
        changed = replace(self.body(name), **changes)
        return replace(self, bodies=tuple(changed if body.name == name else body for body in self.bodies))


def gap_between(a: FlatBody, at_a: Vec, b: FlatBody | Wall, at_b: Vec) -> tuple[float, Vec]:
    """Free distance in px between two things placed at the given centres (negative: overlap), and the unit
    direction from `b` to `a` along which they touch."""
    if isinstance(b, Wall):
        return _gap_to_wall(a, at_a, b)
    dx, dy = at_a[0] - at_b[0], at_a[1] - at_b[1]
    # A ball is a point with a radius, a block a square without one.
    half_a, radius_a = (0.0, a.size) if a.shape == "ball" else (a.size, 0.0)
    half_b, radius_b = (0.0, b.size) if b.shape == "ball" else (b.size, 0.0)
    gap_x, gap_y = abs(dx) - half_a - half_b, abs(dy) - half_a - half_b
    beyond_x, beyond_y = max(gap_x, 0.0), max(gap_y, 0.0)
    distance = math.sqrt(beyond_x * beyond_x + beyond_y * beyond_y)
    if distance > 0.0:
        normal = math.copysign(beyond_x / distance, dx), math.copysign(beyond_y / distance, dy)
        return distance - radius_a - radius_b, normal
    return _gap_along_axes(gap_x - radius_a - radius_b, gap_y - radius_a - radius_b, dx, dy)


def _gap_to_wall(body: FlatBody, at: Vec, wall: Wall) -> tuple[float, Vec]:
    """For a block the wall must be upright or level."""
    (x1, y1), (x2, y2) = wall.start, wall.end
    if body.shape == "block":
        dx, dy = at[0] - wall.position[0], at[1] - wall.position[1]
        return _gap_along_axes(abs(dx) - body.size - wall.reach[0], abs(dy) - body.size - wall.reach[1], dx, dy)
    along_x, along_y = x2 - x1, y2 - y1
    part = ((at[0] - x1) * along_x + (at[1] - y1) * along_y) / (along_x * along_x + along_y * along_y)
    part = max(0.0, min(1.0, part))
    off_x, off_y = at[0] - x1 - part * along_x, at[1] - y1 - part * along_y
    distance = math.sqrt(off_x * off_x + off_y * off_y)
    if distance == 0.0:
        return -body.size - wall.half_width, (0.0, -1.0)
    return distance - body.size - wall.half_width, (off_x / distance, off_y / distance)


def _gap_along_axes(gap_x: float, gap_y: float, dx: float, dy: float) -> tuple[float, Vec]:
    """The larger of two gaps, and its direction."""
    if gap_x > gap_y:
        return gap_x, (math.copysign(1.0, dx), 0.0)
    return gap_y, (0.0, math.copysign(1.0, dy))
