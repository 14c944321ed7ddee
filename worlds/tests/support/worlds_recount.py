"""Answers counterfactual questions of worlds anew from the scene file, with nothing of the package.

The scene becomes MuJoCo's XML here, is run here, and what happens is read from the state here, all written apart from
`lmms_eval_worlds.physics` by the definitions of docs/worlds.md, so that a mistake there is not made here, too.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

STEP, FRAME, DELAY = 0.002, 1 / 12, 0.6

Body = dict[str, Any]


def to_xml(scene: dict[str, Any], without: set[str], fixed: set[str]) -> str:
    """The scene in MuJoCo's own language."""
    bodies = []
    for body in scene["bodies"]:
        if body["name"] in without:
            continue
        turn = Rotation.from_euler("xyz", body.get("turn", [0, 0, 0]), degrees=True)
        x, y, z, w = turn.as_quat()
        joint = ""
        if body["name"] not in fixed and body.get("moves", "freely") == "freely":
            joint = "<freejoint/>"
        elif body["name"] not in fixed and body.get("moves") == "about its hinge":
            offset = turn.inv().apply(np.subtract(body["hinge"]["point"], body["place"]))
            axis = turn.inv().apply({"x": [1, 0, 0], "y": [0, 1, 0]}[body["hinge"]["axis"]])
            damping = 3.0 if body["shape"] == "plank" else 0.002
            joint = f'<joint type="hinge" pos="{words(offset)}" axis="{words(axis)}" damping="{damping}"/>'
        geoms = "".join(geom_xml(body, *part) for part in parts_of(body))
        place = f'pos="{words(body["place"])}" quat="{words([w, x, y, z])}"'
        bodies.append(f'<body name="{body["name"]}" {place}>{joint}{geoms}</body>')
    floor = f'<geom type="plane" size="8 8 .1" friction="0 0 0" solref="{contact(0.1)}"/>'
    option = f'<option timestep="{STEP}" gravity="0 0 -9.81" cone="elliptic" impratio="10"/>'
    return f"<mujoco>{option}<worldbody>{floor}{''.join(bodies)}</worldbody></mujoco>"


def parts_of(body: Body) -> list[tuple[list[float], list[float], int]]:
    """Centres and half sizes of what a body is made of, and how many there are."""
    size = body["size"]
    if body["shape"] != "tray":
        return [([0, 0, 0], size, 1)]
    (x, y, z), wall = size, 0.02
    sides = [([way * (x - wall), 0, 0], [wall, y, z], 5) for way in (-1, 1)]
    ends = [([0, way * (y - wall), 0], [x, wall, z], 5) for way in (1, -1)]
    return [([0, 0, wall - z], [x, y, wall], 5), *sides, *ends]


def geom_xml(body: Body, centre: list[float], size: list[float], parts: int) -> str:
    """A part of a body."""
    kind = {"ball": "sphere", "cylinder": "cylinder"}.get(body["shape"], "box")
    return (
        f'<geom type="{kind}" pos="{words(centre)}" size="{words(size)}" mass="{body.get("mass", 0.5) / parts!r}" '
        f'friction="{body.get("friction", 0.5)!r} .004 .003" solref="{contact(body.get("bounce", 0.3))}" '
        f'condim="{3 if kind == "box" else 6}"/>'
    )


def contact(bounce: float) -> str:
    """Stiffness and damping with which a contact leaves this share of the speed, found by running one."""
    low, high = 0.0, 0.9
    for _ in range(50):
        ratio = (low + high) / 2
        root = np.sqrt(1 - ratio**2)
        # The oscillator pushes until its acceleration is zero, at the phase whose cosine is the damping ratio, twice.
        leaves = np.exp(-2 * ratio / root * np.arccos(ratio))
        low, high = (ratio, high) if leaves > bounce else (low, ratio)
    return f"-40000 {float(-400 * low)!r}"


def words(values: Any) -> str:
    """Numbers as XML has them, every digit of them."""
    return " ".join(repr(float(value)) for value in values)


class World:
    """A scene with an intervention (remove, freeze, delay), run to its end."""

    def __init__(self, scene: dict[str, Any], kind: str, names: list[str]) -> None:
        taken, fixed = (set(names) if kind == wanted else set() for wanted in ("remove", "freeze"))
        self.bodies: dict[str, Body] = {one["name"]: one for one in scene["bodies"] if one["name"] not in taken}
        self.model = mujoco.MjModel.from_xml_string(to_xml(scene, taken, fixed))
        self.free = {name for name in self.bodies if self.model.body(name).dofnum[0] == 6}
        moving = {name for name in self.bodies if self.model.body(name).dofnum[0]}
        for name in moving - self.free:
            ease = self.model.body_invweight0[self.model.body(name).id]
            ease[0] = max(ease[0], ease[1] * (max(self.bodies[name]["size"]) / 2) ** 2)
        self.data = mujoco.MjData(self.model)
        for name in self.free:
            self.data.qvel[self.model.body(name).dofadr[0] :][:3] = self.bodies[name].get("velocity", [0, 0, 0])
        mujoco.mj_forward(self.model, self.data)
        self.hit: set[frozenset[str]] = set()
        self.started: set[str] = set()
        self.fell: set[str] = set()
        self.path: dict[str, list[Any]] = {name: [] for name in moving}
        self._run(scene.get("seconds", 4.0), names if kind == "delay" else [])

    def says(self, what: str, body: str, other: str) -> bool:
        """Whether something happens."""
        if what == "hits":
            return frozenset({body, other}) in self.hit
        if what == "enters":
            return body in self.path and other in self.bodies and self._inside(body, other)
        return body in {"falls": self.fell, "starts": self.started}[what]

    def _run(self, seconds: float, held: list[str]) -> None:
        model, data = self.model, self.data
        first = {name: data.body(name).xpos.copy() for name in self.path}
        upright = {name: data.body(name).xmat.reshape(3, 3)[:, 2].copy() for name in self.path}
        height = {name: place[2] for name, place in first.items()}
        dropped = dict.fromkeys(self.path, 0.0)
        near = self._pairs(0.004)
        first_speeds, steps = data.qvel.copy(), 0
        for frame in range(round(seconds / FRAME)):
            while data.time < frame * FRAME - STEP / 2:
                for name in self.path.keys() & set(held) if data.time < DELAY + STEP / 2 else ():
                    released, width = data.time > DELAY - STEP / 2, int(model.body(name).dofnum[0])
                    place, speed = model.jnt_qposadr[model.body(name).jntadr[0]], int(model.body(name).dofadr[0])
                    places, speeds = slice(place, place + width + (width == 6)), slice(speed, speed + width)
                    # A held body is as heavy as a wall.
                    model.dof_armature[speeds] = 0 if released else 1e6
                    data.qpos[places] = model.qpos0[places]
                    data.qvel[speeds] = first_speeds[speeds] if released else 0
                mujoco.mj_step(model, data)
                steps += 1
                self.hit |= self._pairs() - near
                if steps % 8:
                    continue
                for name in self.path:
                    body, place = self.bodies[name], data.body(name).xpos
                    lean = float(data.body(name).xmat.reshape(3, 3)[:, 2] @ upright[name])
                    rolls = body["shape"] == "ball"
                    down = height[name] - place[2]
                    dropped[name] = max(0.0, dropped[name] + (0.0 if down > 0 and self._carried(name) else down))
                    height[name] = place[2]
                    turned = not rolls and lean < np.cos(np.pi / 30)
                    if not any(body.get("velocity", [0])) and (np.linalg.norm(place - first[name]) > 0.03 or turned):
                        self.started.add(name)
                    tipped = not rolls and lean < np.cos(np.pi / 4)
                    if name in self.free and (tipped or dropped[name] > max(half_height(body), 0.08)):
                        self.fell.add(name)
            for name, path in self.path.items():
                path.append(data.body(name).xpos.copy())

    def _pairs(self, margin: float = 0.0) -> set[frozenset[str]]:
        """The named bodies that touch each other, or are as near as a margin; one of them must be able to move."""
        if margin:
            kept = self.model.geom_margin.copy()
            self.model.geom_margin[:] = margin
            mujoco.mj_collision(self.model, self.data)
            self.model.geom_margin[:] = kept
        found = set()
        for one in self.data.contact.geom.tolist():
            names = frozenset(self.model.body(self.model.geom_bodyid[geom]).name for geom in one)
            if "world" not in names and names & self.path.keys():
                found.add(names)
        return found

    def _carried(self, name: str) -> bool:
        """Whether a body is on a ramp or on a plank that turns; such a body has one part, and so has what is on it."""
        slopes = {
            other
            for other, body in self.bodies.items()
            if body["shape"] == "ramp" or (body["shape"] == "plank" and body.get("hinge"))
        }
        one, *others = (int(self.model.body(body).geomadr[0]) for body in (name, *slopes - {name}))
        between = (mujoco.mj_geomDistance(self.model, self.data, one, other, 0.08, np.zeros(6)) for other in others)
        return any(distance < 0.004 for distance in between)

    def _inside(self, name: str, tray: str) -> bool:
        """Whether a body was out of a tray at some time and is in it at the end."""
        x, y, z = self.bodies[tray]["size"]
        most = [x, y, z + half_height(self.bodies[name])]
        within = (np.abs(np.array(self.path[name]) - np.array(self.bodies[tray]["place"])) <= most).all(axis=1)
        return bool(within[-1] and not within.all())


def half_height(body: Body) -> float:
    """Of a ball its radius."""
    return float(body["size"][0 if body["shape"] == "ball" else -1])


def recount(scenes: dict[str, Any], questions: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The counterfactual questions of a `questions.jsonl` whose answer here is another one: id, key, answer here."""
    wrong = []
    for asked in questions:
        world = World(scenes[asked["scene"]], asked["intervention"], asked["changed"].split(" and "))
        answer = "yes" if world.says(*asked["outcome"]) else "no"
        if answer != asked["answer"]:
            wrong.append((asked["item_id"], asked["answer"], answer))
    return wrong
