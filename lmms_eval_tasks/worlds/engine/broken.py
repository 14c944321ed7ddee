"""Rollouts in which a body breaks a principle of physics from a time on; until then they are as those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from lmms_eval_tasks.worlds.engine.facts import Violation
from lmms_eval_tasks.worlds.engine.looks import SIZE
from lmms_eval_tasks.worlds.engine.mechanics import STEP, build_model, joint_address
from lmms_eval_tasks.worlds.engine.pictures import camera_at
from lmms_eval_tasks.worlds.engine.rollout import FPS, Change, roll_out
from lmms_eval_tasks.worlds.engine.scene import GRAVITY, Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

GONE = -50.0
"""Height in metres at which nobody sees a body that has vanished."""
JUMP = (0.6, 0.45, 0.8)
"""Metres by which a body jumps, the best first."""
RESTS = 0.1
"""Metres per second below which a body that breaks inertia starts, and above which it stops."""
ROLLS, SLIDES = 1.6, 2.4
"""Metres per second with which it starts: what slides loses it within half a metre."""
BEFORE = 5
"""Steps before its time from which a body goes through another: they must not have touched."""
MARGIN = 0.9
"""The share of the picture's half width and half height within which a body is put."""
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
    poses = roll_out(scene, _CHANGES[violation.principle](scene, violation)).poses
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


def _permanence(scene: Scene, violation: Violation) -> Change:
    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if _is_due(data, violation.time):
            body = model.body(violation.body).id
            for geom in _geoms(model, body):
                model.geom_contype[geom] = model.geom_conaffinity[geom] = 0
            if model.body_dofnum[body] == 6:
                place, speed = _address(model, violation.body)
                data.qpos[place + 2] = GONE
                data.qvel[speed : speed + 6] = 0.0

    return change


def _continuity(scene: Scene, violation: Violation) -> Change:
    done = False

    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        nonlocal done
        if _is_due(data, violation.time) and not done:
            done = True
            place, _ = _address(model, violation.body)
            jump = _free_way(scene, model, data, violation.body, [jump * way for jump in JUMP for way in _ways(scene)])
            if jump is None:
                raise ValueError(f"Expected room for {violation.body} of scene {scene.id} to jump to, but found none.")
            data.qpos[place : place + 3] += jump

    return change


def _solidity(scene: Scene, violation: Violation) -> Change:
    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if _is_due(data, violation.time - BEFORE * STEP):
            # Two bodies touch where they share a bit: all others have both.
            touching = model.geom_contype != 0
            model.geom_contype[touching] = model.geom_conaffinity[touching] = 3
            for bit, name in ((1, violation.body), (2, violation.other)):
                for geom in _geoms(model, model.body(name).id):
                    model.geom_contype[geom] = model.geom_conaffinity[geom] = bit

    return change


def _gravity(scene: Scene, violation: Violation) -> Change:
    done = False

    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        nonlocal done
        if _is_due(data, violation.time):
            body, (_, speed) = model.body(violation.body).id, _address(model, violation.body)
            data.xfrc_applied[body, 2] = GRAVITY * model.body_mass[body]
            if not done:
                done = True
                data.qvel[speed + 2 : speed + 6] = 0.0

    return change


def _inertia(scene: Scene, violation: Violation) -> Change:
    touched: set[int] | None = None
    has_ended = False

    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        nonlocal touched, has_ended
        if has_ended or not _is_due(data, violation.time):
            return
        body, (_, speed) = model.body(violation.body).id, _address(model, violation.body)
        if touched is None and float(np.linalg.norm(data.qvel[speed : speed + 3])) < RESTS:
            has_ended = True
            fast = ROLLS if scene.body(violation.body).shape == "ball" else SLIDES
            way = _free_way(scene, model, data, violation.body, [0.5 * way for way in _ways(scene)])
            if way is None:
                raise ValueError(f"Expected room for {violation.body} of scene {scene.id} to start, but found none.")
            data.qvel[speed : speed + 3] = fast * way / np.linalg.norm(way)
            return
        now = _touching(model, data, body)
        touched = now if touched is None else touched
        has_ended = bool(now - touched)
        if not has_ended:
            data.qvel[speed : speed + 6] = 0.0

    return change


_CHANGES = {
    "permanence": _permanence,
    "continuity": _continuity,
    "solidity": _solidity,
    "gravity": _gravity,
    "inertia": _inertia,
}


def _due_frame(violation: Violation) -> int:
    """The first frame that may differ."""
    return int(np.ceil(violation.time * FPS - 0.01))


def _is_due(data: mujoco.MjData, time: float) -> bool:
    return bool(data.time > time - STEP / 2)


def _geoms(model: mujoco.MjModel, body: int) -> Iterable[int]:
    first = int(model.body_geomadr[body])
    return range(first, first + int(model.body_geomnum[body]))


def _address(model: mujoco.MjModel, name: str) -> tuple[int, int]:
    """Return the start of a free body's position in `qpos` and of its velocities in `qvel`."""
    return int(model.jnt_qposadr[model.body(name).jntadr[0]]), joint_address(model, name)


def _touching(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> set[int]:
    """The bodies that touch a body, among them the floor's."""
    pairs = model.geom_bodyid[data.contact.geom].reshape(-1, 2)
    return {int(other) for pair in pairs if body in pair for other in pair}


def _ways(scene: Scene) -> list[NDArray[np.float64]]:
    """To the right and to the left of who looks at the scene, then askew, away and towards: the first is seen best."""
    looks = np.array(scene.camera.target) - np.array(scene.camera.place)
    ahead = np.array([looks[0], looks[1], 0.0]) / np.hypot(looks[0], looks[1])
    right = np.array([ahead[1], -ahead[0], 0.0])
    askew = [(side * right + depth * ahead) / np.sqrt(2) for depth in (1, -1) for side in (1, -1)]
    return [right, -right, *askew, ahead, -ahead]


def _free_way(
    scene: Scene, model: mujoco.MjModel, data: mujoco.MjData, name: str, ways: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64] | None:
    """The first way at whose end a body has room enough, else the one with the most; None where none has any."""
    rooms = [_room(scene, model, data, name, way) for way in ways]
    best = next((place for place, room in enumerate(rooms) if room >= ROOM), int(np.argmax(rooms)))
    return ways[best] if rooms[best] > 0.0 else None


def _room(scene: Scene, model: mujoco.MjModel, data: mujoco.MjData, name: str, way: NDArray[np.float64]) -> float:
    """Metres between a body, once it is moved, and the next one, at most `ROOM`; less than 0 out of the picture."""
    moved = mujoco.MjData(model)
    place, _ = _address(model, name)
    moved.qpos[:] = data.qpos
    moved.qpos[place : place + 3] += way
    mujoco.mj_kinematics(model, moved)
    body = model.body(name).id
    if not _in_picture(scene, model, moved.xpos[body], float(data.time)):
        return -1.0
    others = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] not in (0, body)]
    room = ROOM
    for geom in _geoms(model, body):
        for other in others:
            room = min(room, mujoco.mj_geomDistance(model, moved, geom, other, ROOM, None))
    return float(room)


def _in_picture(scene: Scene, model: mujoco.MjModel, place: NDArray[np.float64], time: float) -> bool:
    camera, turned = camera_at(scene, time / scene.seconds - 0.5)
    across, up, back = turned.T @ (place - camera)
    high = np.tan(np.radians(float(model.cam_fovy[0])) / 2) * MARGIN
    wide = high * SIZE[0] / SIZE[1]
    return bool(back < 0.0 and abs(up) < -back * high and abs(across) < -back * wide)
