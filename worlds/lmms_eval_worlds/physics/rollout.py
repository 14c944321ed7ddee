"""Running a scene: where everything is at each frame, and what happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from lmms_eval_worlds.physics.mechanics import STEP, build_model, start
from lmms_eval_worlds.scenes.scene import GRAVITY, Body, Event, EventKey, EventKind, Scene

FPS = 12
"""Frames of a clip in a second."""
MOVED = 0.03
"""Metres from where a body rested, from which it has started to move: far enough to be seen."""
TIPPED = 45.0
"""Degrees by which a body leans from its first position, from which it has tipped over."""
LEANING = 20.0
"""Degrees from which a body that has not tipped over may be taken to have fallen all the same."""
STILL = 0.03
"""Metres within which a body stays once it has stopped."""
PAUSE = 0.01
"""Metres within which a body stays that seems to rest for a while."""
TURNED = 6.0
"""Degrees by which a body that is no ball turns, from which it has started to move."""
FALLEN = 0.08
"""Metres that a body drops at least when it falls."""
NEAR = 0.004
"""Metres between bodies that touch at the start: when they move on against each other, nothing hits."""
LOOK = 8
"""Steps of the physics after which places are looked at again; contacts are looked at each second step."""
STILL_FOR = 0.4
"""Seconds at the end of which a body that has stopped must have been still."""
APART = 0.2
"""Seconds for which two bodies do not touch before they hit each other again."""

_COS_TURNED, _COS_LEANING, _COS_TIPPED = np.cos(np.radians([TURNED, LEANING, TIPPED]))

Change = Callable[[mujoco.MjModel, mujoco.MjData], None]
"""What is done to a world before each step."""


@dataclass
class Rollout:
    events: list[Event]
    unclear: list[EventKey]
    again: list[EventKey]
    poses: NDArray[np.float64]
    places: dict[str, NDArray[np.float64]]
    lost_energy: float


def roll_out(scene: Scene, change: Change | None = None) -> Rollout:
    model = build_model(scene)
    data = start(model, scene)
    watch = _Watch(model, scene)
    # Heights count from where the energy is least, so that the share lost has a meaning.
    first = _energy(model, data, watch.moving)
    poses, places, steps = [], [], 0
    for frame in range(round(scene.seconds * FPS)):
        while data.time < frame / FPS - STEP / 2:
            if change is not None:
                change(model, data)
            mujoco.mj_step(model, data)
            steps += 1
            if steps % 2 == 0:
                watch.look_at_contacts(data)
            if steps % LOOK == 0:
                watch.look_at_places(data)
        poses.append(data.qpos.copy())
        places.append(data.xpos.copy())
    last = _energy(model, data, watch.moving)
    stacked = np.array(places)
    moving = {body.name: stacked[:, model.body(body.name).id] for body in watch.moving}
    lost = 1.0 - last / first if first > 1e-9 else 0.0
    return Rollout(
        events=watch.events(moving),
        unclear=watch.unclear(moving),
        again=watch.again,
        poses=np.array(poses),
        places=moving,
        lost_energy=float(np.clip(lost, 0.0, 1.0)),
    )


class _Watch:
    """Notes what happens while a scene runs."""

    def __init__(self, model: mujoco.MjModel, scene: Scene) -> None:
        """Find the bodies that may move, and where they are at the start."""
        self._model = model
        self.moving = [body for body in scene.bodies if body.moves != "not at all"]
        self._trays = [body for body in scene.bodies if body.shape == "tray"]
        self._names = {model.body(body.name).id: body.name for body in scene.bodies}
        self._body_of = model.geom_bodyid.tolist()
        data = start(model, scene)
        # Of each body that may move.
        self._ids = np.array([model.body(body.name).id for body in self.moving], dtype=int)
        self._rested = np.array([not any(body.velocity) for body in self.moving], dtype=bool)
        self._rolls = np.array([body.shape == "ball" for body in self.moving], dtype=bool)
        self._drop = np.array([max(_half_height(body), FALLEN) for body in self.moving])
        self._start = data.xpos[self._ids].copy()
        self._up = data.xmat[self._ids, 2::3].copy()
        self._heights = self._start[:, 2].copy()
        self._fallen, self._most_fallen = np.zeros((2, len(self.moving)))
        self._least_upright = np.ones(len(self.moving))
        geoms = {body.name: np.flatnonzero(model.geom_bodyid == model.body(body.name).id) for body in scene.bodies}
        self._geoms = [geoms[body.name] for body in self.moving]
        self._carriers = [
            (body.name, int(geom))
            for body in scene.bodies
            if body.shape == "ramp" or (body.shape == "plank" and body.hinge is not None)
            for geom in geoms[body.name]
        ]
        # Of each pair of bodies that touch.
        self._touching = _touching(model, data)
        self._last = b""
        self._now: set[tuple[int, int]] = set()
        self._touched: dict[tuple[int, int], float] = {}
        self._hits: dict[tuple[int, int], Event] = {}
        self._again: set[tuple[int, int]] = set()
        self._first: dict[tuple[EventKind, str], Event] = {}

    def look_at_contacts(self, data: mujoco.MjData) -> None:
        """Note which bodies hit each other for the first time, and which do so again."""
        geoms = data.contact.geom
        found = geoms.tobytes()
        if found == self._last:
            return
        self._last = found
        pairs = {_ordered(self._body_of[one], self._body_of[other]) for one, other in geoms.tolist()}
        self._touched.update(dict.fromkeys(self._now, data.time))
        new = pairs - self._now
        self._now = pairs
        for pair in new:
            if pair in self._hits:
                if data.time - self._touched[pair] > APART:
                    self._again.add(pair)
            elif pair not in self._touching and pair[0] in self._names and pair[1] in self._names:
                faster, slower = sorted(pair, key=lambda body: -float(np.linalg.norm(data.cvel[body][3:])))
                self._hits[pair] = Event(
                    kind="hits", time=round(data.time, 3), body=self._names[faster], other=self._names[slower]
                )

    def look_at_places(self, data: mujoco.MjData) -> None:
        """Note which bodies have started to move, and which have fallen."""
        places = data.xpos[self._ids]
        moved = np.linalg.norm(places - self._start, axis=1) > MOVED
        upright = (self._up * data.xmat[self._ids, 2::3]).sum(axis=1)
        turned = (upright < _COS_TURNED) & ~self._rolls
        tipped = (upright < _COS_TIPPED) & ~self._rolls
        self._least_upright = np.minimum(self._least_upright, upright)
        down = self._heights - places[:, 2]
        for index in np.flatnonzero(down > 0.0) if self._carriers else ():
            if self._carried(data, int(index)):
                down[index] = 0.0
        self._fallen = np.maximum(self._fallen + down, 0.0)
        self._most_fallen = np.maximum(self._most_fallen, self._fallen)
        self._heights = places[:, 2].copy()
        for index in np.flatnonzero((moved | turned) & self._rested):
            self._note("starts", self.moving[index].name, data.time)
        for index in np.flatnonzero(tipped | (self._fallen > self._drop)):
            if self.moving[index].moves == "freely":
                self._note("falls", self.moving[index].name, data.time)

    def _carried(self, data: mujoco.MjData, index: int) -> bool:
        """Whether a body is on a ramp or on a plank that turns about a hinge; a rolling one leaves it by a hair."""
        name, between = self.moving[index].name, np.zeros(6)
        return any(
            mujoco.mj_geomDistance(self._model, data, int(geom), carrier, FALLEN, between) < NEAR
            for geom in self._geoms[index]
            for other, carrier in self._carriers
            if other != name
        )

    def _note(self, kind: EventKind, body: str, time: float) -> None:
        if (kind, body) not in self._first:
            self._first[kind, body] = Event(kind=kind, time=round(time, 3), body=body)

    def events(self, places: dict[str, NDArray[np.float64]]) -> list[Event]:
        """All events, in order of time."""
        found = [
            event for (one, other), event in self._hits.items() if {one, other} & {int(body) for body in self._ids}
        ]
        found += self._first.values()
        found += _stops(self.moving, places, {event.body for event in self._first.values()})
        found += _entries(self.moving, self._trays, places)
        return sorted(found, key=lambda event: (event.time, event.kind, event.body, event.other))

    def unclear(self, places: dict[str, NDArray[np.float64]]) -> list[EventKey]:
        """Return the events that may be said to happen or not, sorted."""
        found = {self._hit(pair) for pair in self._touching if set(pair) <= self._names.keys()}
        leaning = (self._least_upright < _COS_LEANING) & ~self._rolls
        for index in np.flatnonzero(leaning | (self._most_fallen > self._drop / 2)):
            body = self.moving[index].name
            if ("falls", body) not in self._first:
                found.add(EventKey("falls", body))
        for moving in self.moving:
            path = places[moving.name]
            if moving.moves == "about its hinge":
                # It falls or stops neither as what is free does, nor as if it did not move.
                found |= {EventKey("falls", moving.name), EventKey("stops", moving.name)}
            elif _pauses(path, any(moving.velocity)):
                found.add(EventKey("stops", moving.name))
            for tray in self._trays:
                if tray.name != moving.name and _inside(tray, moving, path)[0]:
                    found.add(EventKey("enters", moving.name, tray.name))
        return sorted(found)

    @property
    def again(self) -> list[EventKey]:
        """Those that hit each other, part and do so again, sorted."""
        return sorted(map(self._hit, self._again))

    def _hit(self, pair: tuple[int, int]) -> EventKey:
        return EventKey("hits", *sorted(self._names[body] for body in pair))


def _ordered(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _touching(model: mujoco.MjModel, data: mujoco.MjData) -> set[tuple[int, int]]:
    """The pairs of bodies that touch, or nearly do."""
    kept = model.geom_margin.copy()
    model.geom_margin[:] = NEAR
    mujoco.mj_collision(model, data)
    model.geom_margin[:] = kept
    return {_ordered(*pair) for pair in model.geom_bodyid[data.contact.geom].reshape(-1, 2).tolist()}


def _half_height(body: Body) -> float:
    return body.size[0] if body.shape == "ball" else body.size[-1]


def _stops(bodies: Iterable[Body], places: dict[str, NDArray[np.float64]], started: set[str]) -> Iterable[Event]:
    """Yield the event of each moved body coming to rest for good."""
    for body in bodies:
        if not (any(body.velocity) or body.name in started):
            continue
        path = places[body.name]
        away = np.linalg.norm(path - path[-1], axis=1) > STILL
        if not away.any():
            continue
        last = int(np.flatnonzero(away)[-1]) + 1
        if (len(path) - 1 - last) / FPS >= STILL_FOR:
            yield Event(kind="stops", time=round(last / FPS, 3), body=body.name)


def _pauses(path: NDArray[np.float64], moves_at_once: bool) -> bool:
    """Whether a body that moved rests for a while and then moves on."""
    frames = round(STILL_FOR * FPS)
    if len(path) <= frames:
        return False
    now = path[:-frames]
    away = [np.linalg.norm(path[later : later + len(now)] - now, axis=1) for later in range(1, frames + 1)]
    rests = np.max(away, axis=0) < PAUSE
    from_start = np.linalg.norm(path - path[0], axis=1)[:-frames]
    to_end = np.linalg.norm(path - path[-1], axis=1)
    goes_on = np.maximum.accumulate((to_end > STILL)[::-1])[::-1][frames:]
    has_moved = np.maximum.accumulate(from_start > STILL) | moves_at_once
    return bool((rests & has_moved & goes_on).any())


def _inside(tray: Body, body: Body, path: NDArray[np.float64]) -> NDArray[np.bool_]:
    x, y, z = tray.size
    inside: NDArray[np.bool_] = (np.abs(path - np.array(tray.place)) <= [x, y, z + _half_height(body)]).all(axis=1)
    return inside


def _entries(bodies: Iterable[Body], trays: Iterable[Body], places: dict[str, NDArray[np.float64]]) -> Iterable[Event]:
    """Yield the event of each body entering a tray in which it still is at the end."""
    for tray in trays:
        for body in bodies:
            if body.name == tray.name:
                continue
            inside = _inside(tray, body, places[body.name])
            outside = np.flatnonzero(~inside)
            if not len(outside) or not inside[-1]:
                continue
            yield Event(kind="enters", time=round((int(outside[-1]) + 1) / FPS, 3), body=body.name, other=tray.name)


def _energy(model: mujoco.MjModel, data: mujoco.MjData, bodies: Iterable[Body]) -> float:
    """Kinetic energy, and potential energy above where each body would lie on the floor, in joules."""
    whole = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, whole)
    potential = 0.0
    for body in bodies:
        height = float(data.xipos[model.body(body.name).id][2])
        potential += body.mass * GRAVITY * max(0.0, height - min(body.size))
    return 0.5 * float(data.qvel @ whole @ data.qvel) + potential
