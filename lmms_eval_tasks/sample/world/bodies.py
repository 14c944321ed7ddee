"""Bodies, walls and the laws that move them. Units: pixels, seconds, x to the right, y downwards."""

import math
from dataclasses import dataclass
from typing import Literal

Vec = tuple[float, float]
Shape = Literal["ball", "block"]


@dataclass(frozen=True)
class Waypoint:
    """A place on a scripted path: at `time` the body's centre is at (`x`, `y`); straight lines in between."""

    time: float
    x: float
    y: float


@dataclass(frozen=True)
class Grip:
    """The body is carried by the body `carrier` from `start` to `end` and does not collide meanwhile."""

    carrier: str
    start: float
    end: float


@dataclass(frozen=True)
class Body:
    """A disc (`size` = radius) or an upright square (`size` = half its side) that does not turn.

    `path` scripts the motion until its last waypoint; then the body moves freely, or stays there when `kinematic`.
    The last three fields break the laws of nature: the body vanishes, stops feeling gravity, or passes through the
    named walls.
    """

    name: str
    shape: Shape
    size: float
    position: Vec
    velocity: Vec = (0.0, 0.0)
    path: tuple[Waypoint, ...] = ()
    kinematic: bool = False
    grip: Grip | None = None
    vanishes_at: float = math.inf
    weightless_from: float = math.inf
    passes_through: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wall:
    """An immovable bar from `start` to `end` with round ends; `half_width` is half its thickness."""

    name: str
    start: Vec
    end: Vec
    half_width: float


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
SIDE_VIEW_ROUGH = Laws(gravity=100.0, table_friction=0.0, rolling_friction=30.0, bounce=0.6, wall_bounce=0.35)


@dataclass(frozen=True)
class World:
    """Everything that decides how a scene unfolds."""

    laws: Laws
    bodies: tuple[Body, ...]
    walls: tuple[Wall, ...] = ()

    def body(self, name: str) -> Body:
        """The body called `name`; KeyError when there is none."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise KeyError(name)

    def without(self, name: str) -> "World":
        """This world with the body or wall called `name` left out."""
        return World(
            self.laws,
            tuple(body for body in self.bodies if body.name != name),
            tuple(wall for wall in self.walls if wall.name != name),
        )

    def replacing(self, *bodies: Body) -> "World":
        """This world with the bodies of the same names exchanged for the ones given."""
        new = {body.name: body for body in bodies}
        return World(self.laws, tuple(new.get(body.name, body) for body in self.bodies), self.walls)


def gap_between(a: Body, at_a: Vec, b: Body, at_b: Vec) -> tuple[float, Vec]:
    """Free distance in px between two bodies placed at the given centres (negative: overlap), and the unit
    direction from `b` to `a` along which they touch.
    """
    dx, dy = at_a[0] - at_b[0], at_a[1] - at_b[1]
    if a.shape == "ball" and b.shape == "ball":
        distance = math.sqrt(dx * dx + dy * dy)
        return distance - a.size - b.size, ((dx / distance, dy / distance) if distance else (1.0, 0.0))
    if a.shape == "block" and b.shape == "block":
        gap_x, gap_y = abs(dx) - a.size - b.size, abs(dy) - a.size - b.size
        if gap_x > 0.0 and gap_y > 0.0:
            distance = math.sqrt(gap_x * gap_x + gap_y * gap_y)
            return distance, (math.copysign(gap_x / distance, dx), math.copysign(gap_y / distance, dy))
        if gap_x > gap_y:
            return gap_x, (math.copysign(1.0, dx), 0.0)
        return gap_y, (0.0, math.copysign(1.0, dy))
    if a.shape == "block":
        gap, (nx, ny) = gap_between(b, at_b, a, at_a)
        return gap, (-nx, -ny)
    off_x = dx - max(-b.size, min(b.size, dx))
    off_y = dy - max(-b.size, min(b.size, dy))
    distance = math.sqrt(off_x * off_x + off_y * off_y)
    if distance > 0.0:
        return distance - a.size, (off_x / distance, off_y / distance)
    if abs(dx) > abs(dy):
        return abs(dx) - b.size - a.size, (math.copysign(1.0, dx), 0.0)
    return abs(dy) - b.size - a.size, (0.0, math.copysign(1.0, dy))


def gap_to_wall(body: Body, at: Vec, wall: Wall) -> tuple[float, Vec]:
    """Free distance in px between a body placed at `at` and a wall, and the unit direction from the wall to the body.

    For a block the wall must be upright or level.
    """
    (x1, y1), (x2, y2) = wall.start, wall.end
    if body.shape == "block":
        centre_x, centre_y = (x1 + x2) / 2, (y1 + y2) / 2
        gap_x = abs(at[0] - centre_x) - body.size - abs(x2 - x1) / 2 - wall.half_width
        gap_y = abs(at[1] - centre_y) - body.size - abs(y2 - y1) / 2 - wall.half_width
        if gap_x > gap_y:
            return gap_x, (math.copysign(1.0, at[0] - centre_x), 0.0)
        return gap_y, (0.0, math.copysign(1.0, at[1] - centre_y))
    along_x, along_y = x2 - x1, y2 - y1
    part = ((at[0] - x1) * along_x + (at[1] - y1) * along_y) / (along_x * along_x + along_y * along_y)
    part = max(0.0, min(1.0, part))
    off_x, off_y = at[0] - x1 - part * along_x, at[1] - y1 - part * along_y
    distance = math.sqrt(off_x * off_x + off_y * off_y)
    if distance == 0.0:
        return -body.size - wall.half_width, (0.0, -1.0)
    return distance - body.size - wall.half_width, (off_x / distance, off_y / distance)
