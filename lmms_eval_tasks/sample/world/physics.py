"""Two-dimensional mechanics of discs and upright squares with a fixed step and a fixed order of operations.

Only additions, multiplications, divisions and square roots are used, so a simulation gives the same bits on every
machine with IEEE arithmetic.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.world.bodies import Laws, Vec, Waypoint, World, gap_between, gap_to_wall

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

    def place(self, name: str, frame: int = -1) -> Vec:
        """Centre of one body at a frame, by default the last."""
        x, y = self.path(name)[frame]
        return float(x), float(y)

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


def _collide_bodies(state: _State, laws: Laws) -> list[tuple[str, str]]:
    met: list[tuple[str, str]] = []
    bodies, x, y = state.bodies, state.x, state.y
    for i, a in enumerate(bodies):
        if state.carried[i]:
            continue
        for j in range(i + 1, len(bodies)):
            b = bodies[j]
            reach = 1.5 * (a.size + b.size) + CONTACT_GAP
            if abs(x[i] - x[j]) > reach or abs(y[i] - y[j]) > reach or state.carried[j]:
                continue
            weight = state.inverse_mass[i] + state.inverse_mass[j]
            gap, (nx, ny) = gap_between(a, (x[i], y[i]), b, (x[j], y[j]))
            if gap > CONTACT_GAP or weight == 0.0:
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
        reach = body.size + CONTACT_GAP
        for wall, (left, top, right, bottom) in zip(world.walls, bounds, strict=True):
            x, y = state.x[i], state.y[i]
            if x < left - reach or x > right + reach or y < top - reach or y > bottom + reach:
                continue
            if wall.name in body.passes_through:
                continue
            gap, (nx, ny) = gap_to_wall(body, (state.x[i], state.y[i]), wall)
            if gap > CONTACT_GAP:
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
