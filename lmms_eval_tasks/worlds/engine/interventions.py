"""Scenes in which something is otherwise: a body is not there, is held where it is, or is released later."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco

from lmms_eval_tasks.worlds.engine.facts import Intervention
from lmms_eval_tasks.worlds.engine.mechanics import STEP
from lmms_eval_tasks.worlds.engine.rollout import Change, Rollout, roll_out
from lmms_eval_tasks.worlds.engine.scene import Scene

HELD = 0.6
"""Seconds for which a delayed body is held."""
_HEAVY = 1e6
"""Kilograms that a held body weighs more, so that what hits it bounces off as off a wall."""


def intervene(scene: Scene, intervention: Intervention) -> Rollout:
    """Run a scene in which something is otherwise."""
    names = frozenset(intervention.bodies)
    missing = names - {body.name for body in scene.bodies}
    if missing:
        raise ValueError(f"Expected bodies of the scene {scene.id}, but got {', '.join(sorted(missing))}.")
    if intervention.kind == "remove":
        return roll_out(without(scene, names))
    if intervention.kind == "freeze":
        return roll_out(_frozen(scene, names))
    return roll_out(scene, _hold(scene, names))


def without(scene: Scene, names: Iterable[str]) -> Scene:
    """The scene without some bodies."""
    gone = frozenset(names)
    left = [body for body in scene.bodies if body.name not in gone]
    if not left:
        raise ValueError(f"Expected a body of the scene {scene.id} to be left, but all are removed.")
    return scene.model_copy(update={"bodies": left})


def _frozen(scene: Scene, names: frozenset[str]) -> Scene:
    """The scene with some bodies as immovable as a wall, where they are at the start."""
    still = {"moves": "not at all", "velocity": [0.0, 0.0, 0.0]}
    return scene.model_copy(
        update={"bodies": [body.model_copy(update=still) if body.name in names else body for body in scene.bodies]}
    )


def _hold(scene: Scene, names: frozenset[str]) -> Change:
    """Keep bodies where they are until `HELD`, then give each the velocity that it has at the start."""
    bodies = [body for body in scene.bodies if body.name in names and body.moves != "not at all"]

    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if data.time > HELD + STEP / 2:
            return
        release = data.time > HELD - STEP / 2
        for body in bodies:
            joint = model.joint(body.name)
            places, speeds = joint.qposadr[0], joint.dofadr[0]
            sizes = (7, 6) if body.moves == "freely" else (1, 1)
            data.qpos[places : places + sizes[0]] = model.qpos0[places : places + sizes[0]]
            data.qvel[speeds : speeds + sizes[1]] = 0.0
            model.dof_armature[speeds : speeds + sizes[1]] = 0.0 if release else _HEAVY
            if release and body.moves == "freely":
                data.qvel[speeds : speeds + 3] = body.velocity

    return change
