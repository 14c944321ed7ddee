"""Which principles of physics a clip of a scene can be seen to break, when, and by which body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from lmms_eval_tasks.worlds.engine.broken import breaks_visibly
from lmms_eval_tasks.worlds.engine.facts import Event, Violation
from lmms_eval_tasks.worlds.engine.mechanics import build_model
from lmms_eval_tasks.worlds.engine.rollout import FPS, Rollout
from lmms_eval_tasks.worlds.engine.scene import Scene
from lmms_eval_tasks.worlds.engine.ties import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
