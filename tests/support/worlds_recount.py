"""Answers counterfactual questions of worlds anew from the scene file, with nothing of the package.

The scene becomes MuJoCo's XML here, is run here, and what happens is read from the state here, all written apart from
`lmms_eval_tasks.worlds.engine`, so that a mistake there is not made here, too. By hand, for a prepared set:

    python tests/support/worlds_recount.py SCENES.jsonl TABLE.parquet --number 100
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

STEP = 0.004
FRAME = 1 / 12


def to_xml(scene: dict[str, Any], without: set[str], fixed: set[str]) -> str:
    """The scene in MuJoCo's own language."""
    from scipy.spatial.transform import Rotation

    bodies = []
    for body in scene["bodies"]:
        if body["name"] in without:
            continue
        x, y, z, w = Rotation.from_euler("xyz", body.get("turn", [0, 0, 0]), degrees=True).as_quat()
        turn = Rotation.from_quat([x, y, z, w])
        joint = ""
        if body["name"] not in fixed and body.get("moves", "freely") == "freely":
            joint = "<freejoint/>"
        elif body["name"] not in fixed and body.get("moves") == "about its hinge":
            about = {"x": [1, 0, 0], "y": [0, 1, 0]}[body["hinge"]["axis"]]
            offset = turn.inv().apply(np.subtract(body["hinge"]["point"], body["place"]))
            axis = turn.inv().apply(about)
            joint = f'<joint type="hinge" pos="{words(offset)}" axis="{words(axis)}" damping="0.002"/>'
        geoms = "".join(geom_xml(body, *part) for part in parts_of(body))
        place = f'pos="{words(body["place"])}" quat="{words([w, x, y, z])}"'
        bodies.append(f'<body name="{body["name"]}" {place}>{joint}{geoms}</body>')
    floor = f'<geom type="plane" size="8 8 .1" friction=".5 .005 .001" solref="{contact(0.1)}"/>'
    option = f'<option timestep="{STEP}" gravity="0 0 -9.81" cone="elliptic" impratio="10"/>'
    return f"<mujoco>{option}<worldbody>{floor}{''.join(bodies)}</worldbody></mujoco>"


def parts_of(body: dict[str, Any]) -> list[tuple[list[float], list[float], int]]:
    """Centres and half sizes of what a body is made of, and how many there are."""
    size = body["size"]
    if body["shape"] != "tray":
        return [([0, 0, 0], size, 1)]
    x, y, z = size
    wall = 0.02
    sides = [([way * (x - wall), 0, 0], [wall, y, z], 5) for way in (-1, 1)]
    ends = [([0, way * (y - wall), 0], [x, wall, z], 5) for way in (1, -1)]
    return [([0, 0, wall - z], [x, y, wall], 5), *sides, *ends]


def geom_xml(body: dict[str, Any], centre: list[float], size: list[float], parts: int) -> str:
    """A part of a body."""
    kind = {"ball": "sphere", "cylinder": "cylinder"}.get(body["shape"], "box")
    friction = f"{body.get('friction', 0.5)} .004 .0008"
    return (
        f'<geom type="{kind}" pos="{words(centre)}" size="{words(size)}" mass="{body.get("mass", 0.5) / parts!r}" '
        f'friction="{friction}" solref="{contact(body.get("bounce", 0.3))}" condim="6"/>'
    )


def contact(bounce: float) -> str:
    """Stiffness and damping of a contact: the logarithmic decrement of half a period of a damped oscillator."""
    decrement = np.log(1 / max(bounce, 0.001))
    return f"-40000 {float(-400 * decrement / np.sqrt(np.pi**2 + decrement**2))!r}"


def words(values: Any) -> str:
    """Numbers as XML has them, every digit of them."""
    return " ".join(repr(float(value)) for value in values)


def happens(scene: dict[str, Any], intervention: tuple[str, list[str]], outcome: tuple[str, str, str]) -> bool:
    """Whether something happens in a scene with an intervention (remove, freeze, delay; or none)."""
    import mujoco

    kind, names = intervention
    taken = set(names) if kind == "remove" else set()
    model = mujoco.MjModel.from_xml_string(to_xml(scene, taken, set(names) if kind == "freeze" else set()))
    data = mujoco.MjData(model)
    bodies = {body["name"]: body for body in scene["bodies"] if body["name"] not in taken}
    free = [name for name in bodies if model.body(name).jntnum[0] and model.body(name).dofnum[0] == 6]
    for name in free:
        data.qvel[model.body(name).dofadr[0] :][:3] = bodies[name].get("velocity", [0, 0, 0])
    mujoco.mj_forward(model, data)
    held = {}
    if kind == "delay":
        for name in names:
            dof, place = int(model.body(name).dofadr[0]), int(model.jnt_qposadr[model.body(name).jntadr[0]])
            width = int(model.body(name).dofnum[0])
            held[name] = (
                dof,
                width,
                data.qvel[dof : dof + width].copy(),
                place,
                data.qpos[place : place + width + (width == 6)].copy(),
            )
    touched, first = set(), {name: data.body(name).xpos.copy() for name in bodies}
    upright = {name: data.body(name).xmat.reshape(3, 3).copy() for name in bodies}
    at_start = pairs(model, data)
    moved: dict[str, bool] = dict.fromkeys(bodies, False)
    fell: dict[str, bool] = dict.fromkeys(bodies, False)
    path: dict[str, list[Any]] = {name: [] for name in bodies}
    for frame in range(round(scene.get("seconds", 4.0) / FRAME)):
        while data.time < frame * FRAME - STEP / 2:
            for dof, width, velocity, place, pose in held.values():
                # A held body is as heavy as a wall.
                model.dof_armature[dof : dof + width] = 1e6 if data.time < DELAY - STEP / 2 else 0
                if data.time < DELAY - STEP / 2:
                    data.qpos[place : place + len(pose)], data.qvel[dof : dof + width] = pose, 0
                elif data.time < DELAY + STEP / 2:
                    data.qvel[dof : dof + width] = velocity
            mujoco.mj_step(model, data)
            touched |= pairs(model, data) - at_start
            for name in bodies:
                place = data.body(name).xpos
                moved[name] |= bool(np.linalg.norm(place - first[name]) > 0.03)
                lean = np.sum(data.body(name).xmat.reshape(3, 3)[:, 2] * upright[name][:, 2])
                half = bodies[name]["size"][0 if bodies[name]["shape"] == "ball" else -1]
                tipped = bodies[name]["shape"] != "ball" and lean < np.cos(np.pi / 4)
                if name in free:
                    fell[name] |= bool(tipped or first[name][2] - place[2] > max(half, 0.08))
                moved[name] |= bool(tipped)
        for name in bodies:
            path[name].append(data.body(name).xpos.copy())
    what, body, other = outcome
    if what == "hits":
        return frozenset({body, other}) in touched
    if what == "falls":
        return fell.get(body, False)
    if what == "starts":
        return moved.get(body, False) and not any(bodies[body].get("velocity", [0]))
    if what == "enters":
        return body in bodies and other in bodies and inside(bodies[body], bodies[other], path[body])
    raise ValueError(f"Expected hits, falls, starts or enters, but got {what}.")


DELAY = 0.6


def inside(body: dict[str, Any], tray: dict[str, Any], path: list[Any]) -> bool:
    """Whether a body was out of a tray at some time and is in it at the end."""
    half = body["size"][0 if body["shape"] == "ball" else -1]
    x, y, z = tray["size"]
    within = (np.abs(np.array(path) - np.array(tray["place"])) <= [x, y, z + half]).all(axis=1)
    return bool(within[-1] and not within.all())


def pairs(model: Any, data: Any) -> set[frozenset[str]]:
    """The bodies that touch each other; those of the world, the floor, are left out."""
    found = set()
    for one in data.contact.geom:
        names = frozenset(model.body(model.geom_bodyid[geom]).name for geom in one)
        if "world" not in names:
            found.add(names)
    return found


def recount(scenes: dict[str, Any], rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The items whose answer here is another one: id, the key, and the answer here."""
    wrong = []
    for row in rows:
        intervention = (row["intervention"], [row["changed"]])
        answer = "yes" if happens(scenes[row["scene"]], intervention, tuple(row["outcome"])) else "no"
        if answer != row["answer"]:
            wrong.append((row["item_id"], row["answer"], answer))
    return wrong


def main() -> None:
    """Draw questions of a prepared table, and say of how many the answer here is the key."""
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.scenes.read_text(encoding="utf-8").splitlines()]
    scenes = {line["scene"]["id"]: line["scene"] for line in lines}
    rows = [row for row in pq.read_table(options.table).to_pylist() if row["subset"] == "counterfactual"]
    drawn = random.Random(options.seed).sample(rows, min(options.number, len(rows)))
    wrong = recount(scenes, drawn)
    print(f"{len(drawn) - len(wrong)} of {len(drawn)} answers are the key's")
    for line in wrong:
        print(*line)


if __name__ == "__main__":
    main()
