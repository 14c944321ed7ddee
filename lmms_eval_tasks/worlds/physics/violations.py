"""Violations of principles of physics in a scene: rollouts that break one from a time on, and the choice of visible
ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from lmms_eval_tasks.worlds.physics.mechanics import STEP, build_model, joint_address
from lmms_eval_tasks.worlds.physics.nearly_equal import numbers
from lmms_eval_tasks.worlds.physics.pictures import SIZE, camera_at
from lmms_eval_tasks.worlds.physics.rollout import FPS, Change, Rollout, roll_out
from lmms_eval_tasks.worlds.scenes.scene import GRAVITY, Event, Scene, Violation

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        if _is_due(data, violation.time - STEPS_BEFORE * STEP):
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
        if touched is None and float(np.linalg.norm(data.qvel[speed : speed + 3])) < AT_REST:
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
_WIDE = 0.9
"""The share of the picture's half width and half height within which a body is in sight."""


def suitable_violations(scene: Scene, rollout: Rollout) -> list[Violation]:
    """One violation for each principle that the scene can break, in an order that is drawn from its seed."""
    seen = _sight(scene, rollout)
    random = numbers("violations", scene.id, scene.seed)
    found: dict[str, list[Violation]] = {}
    for violation in _candidates(scene, rollout, seen, moving=True):
        found.setdefault(violation.principle, []).append(violation)
    # A body at rest vanishes, or jumps, only where none that moves can.
    rest = [one for one in _candidates(scene, rollout, seen, moving=False) if one.principle not in found]
    for violation in rest:
        found.setdefault(violation.principle, []).append(violation)
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


def _candidates(
    scene: Scene, rollout: Rollout, seen: dict[str, NDArray[np.bool_]], moving: bool
) -> Iterator[Violation]:
    """Yield the violations a scene may show; `moving` says whether bodies that vanish or jump are those that move or
    those at rest."""
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
                yield Violation(principle="gravity", body=name, time=round(frame / FPS, 3))
        for frame in range(BEFORE, len(places) - AFTER):
            time = round(frame / FPS, 3)
            calm = all(abs(time - touch) > CALM for touch in touches)
            moves = fast[frame] > MOVES and fast[frame + 1] > MOVES
            rests = FRAMES[0] <= frame < FRAMES[1] and not fast[frame - BEFORE : frame + BEFORE].max() > RESTS
            if not (moves or rests) or not calm or not _whole(seen[name], frame):
                continue
            if abs(speeds[frame, 2]) < 0.1 and free:
                yield Violation(principle="inertia", body=name, time=time)
            if moves == moving:
                yield Violation(principle="permanence", body=name, time=time)
                if free:
                    yield Violation(principle="continuity", body=name, time=time)
    for event in rollout.events:
        yield from _passes(scene, event, rollout, seen)


def _passes(
    scene: Scene,
    event: Event,
    rollout: Rollout,
    seen: dict[str, NDArray[np.bool_]],
) -> Iterator[Violation]:
    """The hit of an event, as one body going through the other, where the one moves fast enough to come through."""
    frame = int(event.time * FPS)
    if event.kind != "hits" or event.body not in seen or frame < 2 or not _whole(seen[event.body], frame, after=3):
        return
    if scene.body(event.body).moves != "freely" or (event.other in seen and not seen[event.other][frame]):
        return
    places = rollout.places[event.body]
    speed = (places[frame - 1] - places[frame - 2]) * FPS
    if float(np.linalg.norm(speed)) > 2 * MOVES and abs(float(speed[2])) < 0.5:
        yield Violation(principle="solidity", body=event.body, other=event.other, time=round(event.time - 0.02, 3))


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
    high = np.tan(np.radians(float(model.cam_fovy[0])) / 2)
    for frame, pose in enumerate(rollout.poses):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        axes = data.cam_xmat[0].reshape(3, 3)
        for index, body in enumerate(ids):
            way = data.xpos[body] - eye
            across, up, back = axes.T @ way
            inside = back < 0 and abs(up) < -back * high * _WIDE and abs(across) < -back * high * 4 / 3 * _WIDE
            mujoco.mj_ray(model, data, eye, way, None, 1, -1, hit)
            seen[index, frame] = inside and hit[0] >= 0 and model.geom_bodyid[hit[0]] == body
    return {name: seen[index] for index, name in enumerate(names)}
