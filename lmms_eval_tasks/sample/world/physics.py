"""Two-dimensional mechanics of discs and upright squares with a fixed step and a fixed order of operations."""

import math
from collections.abc import Container
from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.world.bodies import FlatBody, FlatWorld, Laws, Vec, Wall, Waypoint, gap_between

FPS = 12
SUBSTEPS = 10
CONTACT_GAP = 0.5
REST_SPEED = 12.0


@dataclass(frozen=True)
class Contact:
    """Two things began to touch at `time`; `first` is a body, `second` a body or a wall."""

    time: float
    first: str
    second: str

    def partner(self, name: str) -> str | None:
        """The other side of the contact, None when `name` takes no part in it."""
        return {self.first: self.second, self.second: self.first}.get(name)


@dataclass(frozen=True)
class Trajectory:
    """Result of a simulation: T frames × N bodies (in the order of `names`), and the times of contact."""

    names: tuple[str, ...]
    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]
    contacts: tuple[Contact, ...]

    def path(self, name: str) -> NDArray[np.float64]:
        """Centre of one body per frame, (T, 2) in px."""
        return self.positions[:, self.names.index(name)]

    def place(self, name: str, frame: int = -1) -> Vec:
        """Centre of one body at a frame, by default the last."""
        x, y = self.path(name)[frame]
        return float(x), float(y)

    def displacement(self, name: str) -> Vec:
        """Return the displacement of a body from the start to the end, in px."""
        (x1, y1), (x2, y2) = self.place(name, 0), self.place(name)
        return x2 - x1, y2 - y1

    def speed(self, name: str) -> NDArray[np.float64]:
        """Speed of one body per frame, (T,) in px/s."""
        velocity = self.velocities[:, self.names.index(name)]
        speed: NDArray[np.float64] = np.sqrt((velocity**2).sum(axis=-1))
        return speed

    def first_contact(self, name: str, among: Container[str] | None = None) -> Contact | None:
        """The first time that `name` touches anything, or anything of `among`."""
        touching = (contact for contact in self.contacts if name in (contact.first, contact.second))
        return next((contact for contact in touching if among is None or contact.partner(name) in among), None)


@dataclass(slots=True)
class _State:
    """Position and velocity of a body or a wall, as plain floats, which beat numpy at this size."""

    x: float
    y: float
    vx: float = 0.0
    vy: float = 0.0
    inverse_mass: float = 0.0
    driven: bool = False
    moved: int = 0


@dataclass(slots=True)
class _Pair:
    """A body and something that it can run into; it cannot where they are farther apart than `reach` along an axis."""

    body: FlatBody
    other: FlatBody | Wall
    state: _State
    other_state: _State
    reach: Vec
    touch: bool = False


def simulate(world: FlatWorld, duration: float, stop_at_contact_of: str | None = None) -> Trajectory:
    """Run `world` for `duration` seconds and record a state per frame (frame k at k / FPS, frame 0 is the start)."""
    step, laws = 1.0 / (FPS * SUBSTEPS), world.laws
    states = [_State(*body.position, *body.velocity, _inverse_mass(body)) for body in world.bodies]
    pairs = _pairs(world, states)
    names = tuple(body.name for body in world.bodies)
    contacts: list[Contact] = []
    rows: list[list[tuple[float, float, float, float]]] = []
    for number in range(round(duration * FPS) * SUBSTEPS):
        time = number * step
        if number % SUBSTEPS == 0:
            rows.append([(state.x, state.y, state.vx, state.vy) for state in states])
            if stop_at_contact_of and any(c.partner(stop_at_contact_of) in names for c in contacts):
                break
        for body, state in zip(world.bodies, states, strict=True):
            # What rests and is pulled by nothing stays where it is.
            if state.vx or state.vy or body.path or laws.gravity:
                _advance(body, state, laws, time + step, step, number)
        before = number - 1
        for pair in pairs:
            # Two that did not touch and have not moved since do not touch, which holds for most pairs in most steps.
            touched, a, b, reach = pair.touch, pair.state, pair.other_state, pair.reach
            if touched or a.moved >= before or b.moved >= before:
                near = abs(a.x - b.x) <= reach[0] and abs(a.y - b.y) <= reach[1]
                pair.touch = near and _collide(pair, laws, step, number)
                if pair.touch and not touched:
                    contacts.append(Contact(time + step, pair.body.name, pair.other.name))
    table = np.array(rows).reshape(len(rows), len(names), 4)
    return Trajectory(names, table[..., :2], table[..., 2:], tuple(contacts))


def _inverse_mass(body: FlatBody) -> float:
    area = math.pi if body.shape == "ball" else 4.0
    return 0.0 if body.kinematic else 1.0 / (area * body.size * body.size)


def _pairs(world: FlatWorld, states: list[_State]) -> list[_Pair]:
    """Return the pairs that can collide: bodies with each other, then bodies with walls."""
    bodies = list(zip(world.bodies, states, strict=True))
    walls = [(wall, _State(*wall.position)) for wall in world.walls]
    candidates: list[tuple[tuple[FlatBody, _State], tuple[FlatBody | Wall, _State]]]
    candidates = [*combinations(bodies, 2), *product(bodies, walls)]
    return [
        _Pair(body, other, state, other_state, (width + CONTACT_GAP, height + CONTACT_GAP))
        for (body, state), (other, other_state) in candidates
        for width, height in [(body.reach[0] + other.reach[0], body.reach[1] + other.reach[1])]
        if state.inverse_mass + other_state.inverse_mass > 0.0 and other.name not in body.passes_through
    ]


def _advance(body: FlatBody, state: _State, laws: Laws, time: float, step: float, number: int) -> None:
    released = state.driven
    state.driven = bool(body.path) and (body.kinematic or body.path[0][0] <= time <= body.path[-1][0])
    if state.driven or released:
        state.moved = number
    if state.driven:
        x, y = _along(body.path, time)
        state.vx, state.vy = (x - state.x) / step, (y - state.y) / step
        state.x, state.y = x, y
        return
    if released:
        state.vx = state.vy = 0.0
    state.vy += laws.gravity * step
    speed = math.sqrt(state.vx**2 + state.vy**2)
    if laws.table_friction and speed > 0.0:
        keep = max(0.0, 1.0 - laws.table_friction * step / speed)
        state.vx *= keep
        state.vy *= keep
    if state.vx or state.vy:
        state.x += state.vx * step
        state.y += state.vy * step
        state.moved = number


def _along(path: tuple[Waypoint, ...], time: float) -> Vec:
    if time <= path[0][0]:
        return path[0][1:]
    for (start, x1, y1), (end, x2, y2) in pairwise(path):
        if time <= end:
            part = (time - start) / (end - start)
            return x1 + part * (x2 - x1), y1 + part * (y2 - y1)
    return path[-1][1:]


def _collide(pair: _Pair, laws: Laws, step: float, number: int) -> bool:
    """Whether two within reach touch; where they overlap they are moved apart and bounce off each other."""
    a, b = pair.state, pair.other_state
    wall = isinstance(pair.other, Wall)
    if wall and a.driven:
        return False
    gap, (nx, ny) = gap_between(pair.body, (a.x, a.y), pair.other, (b.x, b.y))
    if gap > 0.0:
        return gap <= CONTACT_GAP
    a.moved = b.moved = number
    weight = a.inverse_mass + b.inverse_mass
    share_a, share_b = a.inverse_mass / weight, b.inverse_mass / weight
    a.x -= gap * nx * share_a
    a.y -= gap * ny * share_a
    b.x += gap * nx * share_b
    b.y += gap * ny * share_b
    closing = (a.vx - b.vx) * nx + (a.vy - b.vy) * ny
    if closing < 0.0:
        bounce = laws.wall_bounce if wall else laws.bounce
        push = -(1.0 + (bounce if closing < -REST_SPEED else 0.0)) * closing
        a.vx += push * nx * share_a
        a.vy += push * ny * share_a
        b.vx -= push * nx * share_b
        b.vy -= push * ny * share_b
    along = a.vy * nx - a.vx * ny
    if wall and laws.rolling_friction and along:
        slow = min(abs(along), laws.rolling_friction * step) * math.copysign(1.0, along)
        a.vx += slow * ny
        a.vy -= slow * nx
    return True
