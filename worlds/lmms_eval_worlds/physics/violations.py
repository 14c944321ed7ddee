"""Violations of principles of physics in a scene: rollouts that break one from a time on, and the choice of visible
ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from lmms_eval_worlds.physics.mechanics import STEP, build_model, joint_address
from lmms_eval_worlds.physics.nearly_equal import numbers
from lmms_eval_worlds.physics.pictures import FIELD, SIZE, camera_at
from lmms_eval_worlds.physics.rollout import FPS, Rollout, roll_out
from lmms_eval_worlds.scenes.scene import GRAVITY, Event, Scene, Violation

GONE = -50.0
"""Height in metres at which nobody sees a body that has vanished."""
JUMP = (0.6, 0.45, 0.8)
"""Metres by which a body jumps, the best first."""
AT_REST = 0.1
"""Metres per second below which a body that breaks inertia starts, and above which it stops."""
ROLLS, SLIDES = 1.6, 2.4
"""Metres per second with which it starts: what slides loses it within half a metre."""
STEPS_BEFORE = 5
"""Steps before its time from which a body goes through another: they must not have touched."""
MARGIN = 0.9
"""The share of the picture's half width and half height within which a body is put, or is in sight."""
ROOM = 0.08
"""Metres to the next body that are enough; with less, the way with the most is taken."""
SEEN, WITHIN = 0.1, 0.6
"""Metres, or radians, by which a pose must differ within so many seconds for a principle to be seen to be broken."""


def broken_poses(scene: Scene, violation: Violation) -> NDArray[np.float64]:
    """`qpos` at each frame, (frames, nq), of a scene in which a body breaks a principle."""
    names = {body.name: body for body in scene.bodies}
    moves = names[violation.body].moves if violation.body in names else "not at all"
    if moves == "not at all" or (moves == "about its hinge" and violation.principle != "permanence"):
        raise ValueError(f"Expected a body of scene {scene.id} that moves freely, but got {violation.body!r}.")
    if violation.principle == "solidity" and violation.other not in names:
        raise ValueError(f"Expected a body of scene {scene.id} to go through, but got {violation.other!r}.")
    poses = roll_out(scene, _Breaking(scene, violation)).poses
    if moves == "about its hinge":
        model = build_model(scene)
        poses[_due_frame(violation) :, model.jnt_qposadr[model.body(violation.body).jntadr[0]]] = np.nan
    return poses


def breaks_visibly(scene: Scene, violation: Violation, poses: NDArray[np.float64]) -> bool:
    """Whether a scene can break a principle so that it is seen soon, and not before its time."""
    try:
        broken = broken_poses(scene, violation)
    except ValueError:
        return False
    due = _due_frame(violation)
    soon = slice(due, due + round(WITHIN * FPS))
    model = build_model(scene)
    # How a body is turned is left out, for a ball's turning is not seen.
    free = model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)
    seen = [axis for joint, first in enumerate(model.jnt_qposadr) for axis in range(first, first + 1 + 2 * free[joint])]
    moved = np.nan_to_num(np.abs(broken[soon] - poses[soon])[:, seen], nan=np.inf)
    return np.array_equal(broken[:due], poses[:due]) and bool(moved.max(initial=0.0) > SEEN)


class _Breaking:
    """Breaks a principle in a scene that runs: a change before each step, from its time on."""

    def __init__(self, scene: Scene, violation: Violation) -> None:
        self._scene, self._violation = scene, violation
        # Two bodies of which one goes through the other must not have touched.
        self._due = violation.time - (STEPS_BEFORE * STEP if violation.principle == "solidity" else 0.0)
        self._has_begun = self._has_ended = False
        self._touched: set[int] = set()

    def __call__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if self._has_ended or not data.time > self._due - STEP / 2:
            return
        body, (place, speed) = model.body(self._violation.body).id, _address(model, self._violation.body)
        match self._violation.principle:
            case "permanence":
                self._vanish(model, data, body, place, speed)
            case "continuity":
                data.qpos[place : place + 3] += self._way(
                    model, data, [j * way for j in JUMP for way in self._ways], "jump to"
                )
                self._has_ended = True
            case "solidity":
                self._go_through(model, body)
            case "gravity":
                data.xfrc_applied[body, 2] = GRAVITY * model.body_mass[body]
                if not self._has_begun:
                    data.qvel[speed + 2 : speed + 6] = 0.0
            case "inertia":
                self._stop_or_start(model, data, body, speed)
        self._has_begun = True

    def _vanish(self, model: mujoco.MjModel, data: mujoco.MjData, body: int, place: int, speed: int) -> None:
        for geom in _geoms(model, body):
            model.geom_contype[geom] = model.geom_conaffinity[geom] = 0
        if model.body_dofnum[body] == 6:
            data.qpos[place + 2] = GONE
            data.qvel[speed : speed + 6] = 0.0

    def _go_through(self, model: mujoco.MjModel, body: int) -> None:
        # Two bodies touch where they share a bit: all others have both.
        touching = model.geom_contype != 0
        model.geom_contype[touching] = model.geom_conaffinity[touching] = 3
        for bit, one in ((1, body), (2, model.body(self._violation.other).id)):
            for geom in _geoms(model, one):
                model.geom_contype[geom] = model.geom_conaffinity[geom] = bit

    def _stop_or_start(self, model: mujoco.MjModel, data: mujoco.MjData, body: int, speed: int) -> None:
        """What rests starts to move; what moves stops, and stays until something else touches it."""
        if not self._has_begun and float(np.linalg.norm(data.qvel[speed : speed + 3])) < AT_REST:
            fast = ROLLS if self._scene.body(self._violation.body).shape == "ball" else SLIDES
            way = self._way(model, data, [0.5 * way for way in self._ways], "start")
            data.qvel[speed : speed + 3] = fast * way / np.linalg.norm(way)
            self._has_ended = True
            return
        pairs = model.geom_bodyid[data.contact.geom].reshape(-1, 2)
        now = {int(other) for pair in pairs if body in pair for other in pair}
        self._touched = self._touched if self._has_begun else now
        self._has_ended = bool(now - self._touched)
        if not self._has_ended:
            data.qvel[speed : speed + 6] = 0.0

    @property
    def _ways(self) -> list[NDArray[np.float64]]:
        """To the right and to the left of who looks at the scene, then askew, away and towards: the first is seen
        best."""
        looks = np.array(self._scene.camera.target) - np.array(self._scene.camera.place)
        ahead = np.array([looks[0], looks[1], 0.0]) / np.hypot(looks[0], looks[1])
        right = np.array([ahead[1], -ahead[0], 0.0])
        askew = [(side * right + depth * ahead) / np.sqrt(2) for depth in (1, -1) for side in (1, -1)]
        return [right, -right, *askew, ahead, -ahead]

    def _way(
        self, model: mujoco.MjModel, data: mujoco.MjData, ways: Sequence[NDArray[np.float64]], what: str
    ) -> NDArray[np.float64]:
        """The first way at whose end the body has room enough, else the one with the most."""
        name = self._violation.body
        rooms = [_room(self._scene, model, data, name, way) for way in ways]
        best = next((place for place, room in enumerate(rooms) if room >= ROOM), int(np.argmax(rooms)))
        if rooms[best] <= 0.0:
            raise ValueError(f"Expected room for {name} of scene {self._scene.id} to {what}, but found none.")
        return ways[best]


def _due_frame(violation: Violation) -> int:
    return int(np.ceil(violation.time * FPS - 0.01))


def _geoms(model: mujoco.MjModel, body: int) -> Iterable[int]:
    first = int(model.body_geomadr[body])
    return range(first, first + int(model.body_geomnum[body]))


def _address(model: mujoco.MjModel, name: str) -> tuple[int, int]:
    """Return the start of a free body's position in `qpos` and of its velocities in `qvel`."""
    return int(model.jnt_qposadr[model.body(name).jntadr[0]]), joint_address(model, name)


def _room(scene: Scene, model: mujoco.MjModel, data: mujoco.MjData, name: str, way: NDArray[np.float64]) -> float:
    """Metres between a body, once it is moved, and the next one, at most `ROOM`; less than 0 out of the picture."""
    moved = mujoco.MjData(model)
    place, _ = _address(model, name)
    moved.qpos[:] = data.qpos
    moved.qpos[place : place + 3] += way
    mujoco.mj_kinematics(model, moved)
    body = model.body(name).id
    place_seen, turned = camera_at(scene, float(data.time) / scene.seconds - 0.5)
    if not _in_picture(turned.T @ (moved.xpos[body] - place_seen), MARGIN):
        return -1.0
    others = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] not in (0, body)]
    room = ROOM
    for geom in _geoms(model, body):
        for other in others:
            room = min(room, mujoco.mj_geomDistance(model, moved, geom, other, ROOM, None))
    return float(room)


def _in_picture(seen: NDArray[np.float64], share: float) -> bool:
    """Whether a point, to the right of, above and behind the camera, is in a share of the picture around its middle."""
    across, up, back = seen
    high = np.tan(np.radians(FIELD) / 2) * share
    wide = high * SIZE[0] / SIZE[1]
    return bool(back < 0.0 and abs(up) < -back * high and abs(across) < -back * wide)


MOVES = 0.35
"""Metres per second from which a body is seen to move."""
RESTS = 0.02
"""Metres per second below which a body is seen to rest."""
DROPS = 0.8
"""Metres per second downward from which a body is seen to fall."""
CALM = 0.25
"""Seconds before and after a moment without a contact that could explain it."""
BEFORE, AFTER = 5, 8
"""For how many frames before and after the moment the body must be in sight."""
TRIED = 4
"""How many violations of a principle are tried, until one shows."""
FRAMES = (8, 30)
"""Between which frames a body at rest breaks a principle."""


def suitable_violations(scene: Scene, rollout: Rollout) -> list[Violation]:
    """One violation for each principle that the scene can break, in an order that is drawn from its seed."""
    seen = _sight(scene, rollout)
    random = numbers("violations", scene.id, scene.seed)
    of_moving: defaultdict[str, list[Violation]] = defaultdict(list)
    of_resting: defaultdict[str, list[Violation]] = defaultdict(list)
    for violation, moves in _candidates(scene, rollout, seen):
        (of_moving if moves else of_resting)[violation.principle].append(violation)
    # A body at rest vanishes, or jumps, only where none that moves can.
    found = {**of_resting, **of_moving}
    principles = sorted(found)
    chosen = (_first_seen(scene, rollout, found[principles[index]], random) for index in random.permutation(len(found)))
    return [violation for violation in chosen if violation is not None]


def _first_seen(
    scene: Scene, rollout: Rollout, candidates: Sequence[Violation], random: np.random.Generator
) -> Violation | None:
    """One of the candidates that shows, drawn from them; None where none of the first few does."""
    for index in random.permutation(len(candidates))[:TRIED]:
        violation = candidates[int(index)]
        if breaks_visibly(scene, violation, rollout.poses):
            return violation
    return None


def choose_violations(suitable: Sequence[Sequence[Violation]], each: int = 2) -> list[list[Violation]]:
    """Choose at most `each` suitable violations for each scene, so that the principles are as balanced as possible over
    all scenes."""
    used: Counter[str] = Counter()
    # What few scenes can break is taken wherever it can be had.
    rare = Counter(violation.principle for violations in suitable for violation in violations)
    chosen = []
    for violations in suitable:
        ranked = sorted(violations, key=lambda violation: (used[violation.principle], rare[violation.principle]))
        used.update(violation.principle for violation in ranked[:each])
        chosen.append(ranked[:each])
    return chosen


def _candidates(scene: Scene, rollout: Rollout, seen: dict[str, NDArray[np.bool_]]) -> Iterator[tuple[Violation, bool]]:
    """Yield the violations that a scene may show; with those of bodies that vanish or jump, whether they move."""
    for name, places in rollout.places.items():
        if name not in seen:
            continue
        free = scene.body(name).moves == "freely"
        speeds = np.gradient(places, 1.0 / FPS, axis=0)
        fast = np.linalg.norm(speeds, axis=1)
        touches = [event.time for event in rollout.events if event.kind == "hits" and name in (event.body, event.other)]
        falling = np.flatnonzero(speeds[:, 2] < -DROPS)
        if len(falling) and free:
            frame = _dropping(speeds[:, 2], int(falling[0]))
            if _whole(seen[name], frame):
                yield Violation(principle="gravity", body=name, time=round(frame / FPS, 3)), True
        for frame in range(BEFORE, len(places) - AFTER):
            time = round(frame / FPS, 3)
            calm = all(abs(time - touch) > CALM for touch in touches)
            moves = fast[frame] > MOVES and fast[frame + 1] > MOVES
            rests = FRAMES[0] <= frame < FRAMES[1] and not fast[frame - BEFORE : frame + BEFORE].max() > RESTS
            if not (moves or rests) or not calm or not _whole(seen[name], frame):
                continue
            if abs(speeds[frame, 2]) < 0.1 and free:
                yield Violation(principle="inertia", body=name, time=time), True
            yield Violation(principle="permanence", body=name, time=time), bool(moves)
            if free:
                yield Violation(principle="continuity", body=name, time=time), bool(moves)
    for event in rollout.events:
        if passes := _passing(scene, event, rollout, seen):
            yield passes, True


def _passing(scene: Scene, event: Event, rollout: Rollout, seen: dict[str, NDArray[np.bool_]]) -> Violation | None:
    """The hit of an event, as one body going through the other, where the one moves fast enough to come through."""
    frame = int(event.time * FPS)
    if event.kind != "hits" or event.body not in seen or frame < 2 or not _whole(seen[event.body], frame, after=3):
        return None
    if scene.body(event.body).moves != "freely" or (event.other in seen and not seen[event.other][frame]):
        return None
    places = rollout.places[event.body]
    speed = (places[frame - 1] - places[frame - 2]) * FPS
    if float(np.linalg.norm(speed)) <= 2 * MOVES or abs(float(speed[2])) >= 0.5:
        return None
    return Violation(principle="solidity", body=event.body, other=event.other, time=round(event.time - 0.02, 3))


def _dropping(speeds: NDArray[np.float64], frame: int) -> int:
    """The frame in which a fall begins that is under way at a frame."""
    while frame > 0 and speeds[frame] < -0.2:
        frame -= 1
    return frame


def _whole(seen: NDArray[np.bool_], frame: int, after: int = AFTER) -> bool:
    return bool(seen[max(0, frame - BEFORE) : frame + after + 1].all()) and frame + after < len(seen)


def _sight(scene: Scene, rollout: Rollout) -> dict[str, NDArray[np.bool_]]:
    """Of each moving body that questions may be about, in which frames its centre is in the picture, hidden by none."""
    model = build_model(scene)
    data = mujoco.MjData(model)
    eye = np.array(scene.camera.place)
    names = [name for name in rollout.places if name in scene.actors]
    ids = [model.body(name).id for name in names]
    seen = np.zeros((len(names), len(rollout.poses)), dtype=bool)
    hit = np.zeros(1, dtype=np.int32)
    axes = camera_at(scene, 0.0)[1].T
    for frame, pose in enumerate(rollout.poses):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        for index, body in enumerate(ids):
            way = data.xpos[body] - eye
            mujoco.mj_ray(model, data, eye, way, None, 1, -1, hit)
            hidden = hit[0] < 0 or model.geom_bodyid[hit[0]] != body
            seen[index, frame] = not hidden and _in_picture(axes @ way, MARGIN)
    return {name: seen[index] for index, name in enumerate(names)}
