"""Two-dimensional mechanics of discs and upright squares with a fixed step and a fixed order of operations.

Units: pixels, seconds, x to the right, y downwards. Only additions, multiplications, divisions and square roots are
used, so a simulation gives the same bits on every machine with IEEE arithmetic.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vec = tuple[float, float]
Shape = Literal["ball", "block"]

FPS = 12
SUBSTEPS = 10
SKIN = 0.5
REST_SPEED = 12.0


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


@dataclass(frozen=True)
class Contact:
    """Two things began to touch at `time`; `first` is a body, `second` a body or a wall."""

    time: float
    first: str
    second: str

    def partner(self, name: str) -> str | None:
        """The other side of the contact, None when `name` takes no part in it."""
        if name == self.first:
            return self.second
        return self.first if name == self.second else None


@dataclass(frozen=True)
class Trajectory:
    """What a simulation gave: state of T frames × N bodies (in the order of `names`) and when things met.

    positions and velocities are (T, N, 2) float64 in px and px/s, visible is (T, N) bool, times (T,) in seconds.
    """

    names: tuple[str, ...]
    times: NDArray[np.float64]
    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]
    visible: NDArray[np.bool_]
    contacts: tuple[Contact, ...]

    def path(self, name: str) -> NDArray[np.float64]:
        """Centre of one body per frame, (T, 2) in px."""
        return self.positions[:, self.names.index(name)]

    def speed(self, name: str) -> NDArray[np.float64]:
        """Speed of one body per frame, (T,) in px/s."""
        velocity = self.velocities[:, self.names.index(name)]
        speed: NDArray[np.float64] = np.sqrt((velocity**2).sum(axis=-1))
        return speed

    def first_contact(self, name: str, among: Iterable[str] | None = None) -> Contact | None:
        """The first time that `name` touches anything, or anything of `among`."""
        wanted = None if among is None else set(among)
        for contact in self.contacts:
            partner = contact.partner(name)
            if partner is not None and (wanted is None or partner in wanted):
                return contact
        return None


class _State:
    """The moving numbers of a simulation as plain floats, which beat numpy at this size."""

    def __init__(self, world: World) -> None:
        self.bodies = world.bodies
        self.x = [body.position[0] for body in world.bodies]
        self.y = [body.position[1] for body in world.bodies]
        self.vx = [body.velocity[0] for body in world.bodies]
        self.vy = [body.velocity[1] for body in world.bodies]
        area = {"ball": math.pi, "block": 4.0}
        self.inverse_mass = [
            0.0 if body.kinematic else 1.0 / (area[body.shape] * body.size * body.size) for body in world.bodies
        ]
        self.driven = [False] * len(world.bodies)
        self.carried = [False] * len(world.bodies)
        self.grip_offset: dict[int, Vec] = {}
        self.wall_bounds = [
            (
                min(wall.start[0], wall.end[0]) - wall.half_width,
                min(wall.start[1], wall.end[1]) - wall.half_width,
                max(wall.start[0], wall.end[0]) + wall.half_width,
                max(wall.start[1], wall.end[1]) + wall.half_width,
            )
            for wall in world.walls
        ]


def simulate(world: World, duration: float, fps: int = FPS, stop_at_contact_of: str | None = None) -> Trajectory:
    """Run `world` for `duration` seconds and record a state per frame (frame k at k / fps, frame 0 is the start).

    With `stop_at_contact_of`, the run ends at the first frame after that body has touched another body.
    """
    frames = round(duration * fps)
    step = 1.0 / (fps * SUBSTEPS)
    state = _State(world)
    names = tuple(body.name for body in world.bodies)
    index = {name: i for i, name in enumerate(names)}
    touching: set[tuple[str, str]] = set()
    contacts: list[Contact] = []
    rows: list[tuple[list[float], list[float], list[float], list[float], list[bool]]] = []
    for number in range(frames * SUBSTEPS):
        time = number * step
        if number % SUBSTEPS == 0:
            seen = [time < body.vanishes_at for body in world.bodies]
            rows.append((state.x[:], state.y[:], state.vx[:], state.vy[:], seen))
            if stop_at_contact_of and any(c.partner(stop_at_contact_of) in index for c in contacts):
                break
        _advance(state, world.laws, index, time + step, step)
        met = _collide_bodies(state, world.laws) + _collide_walls(state, world, step)
        contacts.extend(Contact(time + step, *pair) for pair in met if pair not in touching)
        touching = set(met)
    x, y, vx, vy, visible = (np.array([row[k] for row in rows]) for k in range(5))
    return Trajectory(
        names=names,
        times=np.arange(len(rows)) / fps,
        positions=np.stack([x, y], axis=-1),
        velocities=np.stack([vx, vy], axis=-1),
        visible=visible.astype(bool),
        contacts=tuple(contacts),
    )


def _advance(state: _State, laws: Laws, index: Mapping[str, int], time: float, step: float) -> None:
    for i, body in enumerate(state.bodies):
        state.driven[i] = bool(body.path) and (body.kinematic or time <= body.path[-1].time)
        if state.driven[i]:
            x, y = _along(body.path, time)
            state.vx[i], state.vy[i] = (x - state.x[i]) / step, (y - state.y[i]) / step
            state.x[i], state.y[i] = x, y
            continue
        if body.path and time - step <= body.path[-1].time:
            state.vx[i] = state.vy[i] = 0.0
        if time < body.weightless_from:
            state.vy[i] += laws.gravity * step
        speed = math.sqrt(state.vx[i] ** 2 + state.vy[i] ** 2)
        if laws.table_friction and speed > 0.0:
            keep = max(0.0, 1.0 - laws.table_friction * step / speed)
            state.vx[i] *= keep
            state.vy[i] *= keep
        state.x[i] += state.vx[i] * step
        state.y[i] += state.vy[i] * step
    for i, body in enumerate(state.bodies):
        grip = body.grip
        state.carried[i] = grip is not None and grip.start <= time <= grip.end
        if grip is None or not state.carried[i]:
            continue
        carrier = index[grip.carrier]
        offset = state.grip_offset.setdefault(i, (state.x[i] - state.x[carrier], state.y[i] - state.y[carrier]))
        state.x[i], state.y[i] = state.x[carrier] + offset[0], state.y[carrier] + offset[1]
        state.vx[i] = state.vy[i] = 0.0


def _along(path: tuple[Waypoint, ...], time: float) -> Vec:
    if time <= path[0].time:
        return path[0].x, path[0].y
    for before, after in pairwise(path):
        if time <= after.time:
            part = (time - before.time) / (after.time - before.time)
            return before.x + part * (after.x - before.x), before.y + part * (after.y - before.y)
    return path[-1].x, path[-1].y


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


def _collide_bodies(state: _State, laws: Laws) -> list[tuple[str, str]]:
    met: list[tuple[str, str]] = []
    bodies, x, y = state.bodies, state.x, state.y
    for i, a in enumerate(bodies):
        if state.carried[i]:
            continue
        for j in range(i + 1, len(bodies)):
            b = bodies[j]
            reach = 1.5 * (a.size + b.size) + SKIN
            if abs(x[i] - x[j]) > reach or abs(y[i] - y[j]) > reach or state.carried[j]:
                continue
            weight = state.inverse_mass[i] + state.inverse_mass[j]
            gap, (nx, ny) = gap_between(a, (x[i], y[i]), b, (x[j], y[j]))
            if gap > SKIN or weight == 0.0:
                continue
            met.append((a.name, b.name))
            if gap > 0.0:
                continue
            share_i, share_j = state.inverse_mass[i] / weight, state.inverse_mass[j] / weight
            x[i] -= gap * nx * share_i
            y[i] -= gap * ny * share_i
            x[j] += gap * nx * share_j
            y[j] += gap * ny * share_j
            closing = (state.vx[i] - state.vx[j]) * nx + (state.vy[i] - state.vy[j]) * ny
            if closing < 0.0:
                push = -(1.0 + (laws.bounce if closing < -REST_SPEED else 0.0)) * closing
                state.vx[i] += push * nx * share_i
                state.vy[i] += push * ny * share_i
                state.vx[j] -= push * nx * share_j
                state.vy[j] -= push * ny * share_j
    return met


def _collide_walls(state: _State, world: World, step: float) -> list[tuple[str, str]]:
    met: list[tuple[str, str]] = []
    laws = world.laws
    bounds = state.wall_bounds
    for i, body in enumerate(state.bodies):
        if body.kinematic or state.driven[i] or state.carried[i]:
            continue
        reach = body.size + SKIN
        for wall, (left, top, right, bottom) in zip(world.walls, bounds, strict=True):
            x, y = state.x[i], state.y[i]
            if x < left - reach or x > right + reach or y < top - reach or y > bottom + reach:
                continue
            if wall.name in body.passes_through:
                continue
            gap, (nx, ny) = _gap_to_wall(body, (state.x[i], state.y[i]), wall)
            if gap > SKIN:
                continue
            met.append((body.name, wall.name))
            if gap > 0.0:
                continue
            state.x[i] -= gap * nx
            state.y[i] -= gap * ny
            closing = state.vx[i] * nx + state.vy[i] * ny
            if closing < 0.0:
                push = -(1.0 + (laws.wall_bounce if closing < -REST_SPEED else 0.0)) * closing
                state.vx[i] += push * nx
                state.vy[i] += push * ny
            along = state.vy[i] * nx - state.vx[i] * ny
            if laws.rolling_friction and along:
                slow = min(abs(along), laws.rolling_friction * step) * math.copysign(1.0, along)
                state.vx[i] += slow * ny
                state.vy[i] -= slow * nx
    return met


def _gap_to_wall(body: Body, at: Vec, wall: Wall) -> tuple[float, Vec]:
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
