"""A scene as MuJoCo's model, with bodies and contacts, and the checks that it can be run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from lmms_eval_worlds.scenes.scene import COLOURS, GRAVITY, Body, Scene

# Else MuJoCo writes them into a file in the current folder.
mujoco.set_mju_user_warning(lambda text: print(text, file=sys.stderr))

STEP = 0.002
"""Seconds of a step of the physics."""

WALL = 0.02
"""Half the thickness of a tray's walls and floor."""
STIFFNESS = 40_000.0
"""Of contacts, per kilogram: bodies sink into each other by less than a millimetre."""
SPINNING, ROLLING = 0.004, 0.003
"""Friction against turning on the spot and against rolling, in metres: a ball that rolls at one metre a second comes to
rest after about two and a half."""
STIFF_HINGE, FREE_HINGE = 3.0, 0.002
"""Damping of hinges in newton metres per radian a second: planks turn slowly, so that what they lift stays on them."""
_CRITICAL = 400.0
"""The damping, per kilogram, with which a contact of that stiffness does not bounce at all."""


def build_model(scene: Scene, add_look: Callable[[mujoco.MjSpec], None] | None = None) -> mujoco.MjModel:
    """The model of a scene; what is added for pictures changes nothing of how bodies move."""
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP
    spec.option.gravity = [0.0, 0.0, -GRAVITY]
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # Contacts are kept from slipping, which matters where things lie on a slope.
    spec.option.impratio = 10.0
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[8.0, 8.0, 0.1],
        # Of two friction values MuJoCo takes the larger: the floor has none, so that each body's own decides.
        friction=[0.0, 0.0, 0.0],
        solref=_contact(0.1),
    )
    if add_look is not None:
        add_look(spec)
    for body in scene.bodies:
        _add_body(spec, body)
    model = spec.compile()
    _soften_hinged(model, scene)
    return model


def _soften_hinged(model: mujoco.MjModel, scene: Scene) -> None:
    """Tell MuJoCo how easily the ends of bodies move that turn about their middle."""
    for body in scene.bodies:
        if body.moves == "about its hinge":
            ease = model.body_invweight0[model.body(body.name).id]
            ease[0] = max(ease[0], ease[1] * (max(body.size) / 2) ** 2)


def start(model: mujoco.MjModel, scene: Scene) -> mujoco.MjData:
    """The state at the start: free bodies have their velocities, and those on hinges their place."""
    data = mujoco.MjData(model)
    for body in scene.bodies:
        if body.moves == "freely":
            first = joint_address(model, body.name)
            data.qvel[first : first + 3] = body.velocity
    mujoco.mj_forward(model, data)
    return data


def joint_address(model: mujoco.MjModel, name: str) -> int:
    """Return the start of a moving body's velocities in `qvel`."""
    return int(model.jnt_dofadr[model.body(name).jntadr[0]])


def _add_body(spec: mujoco.MjSpec, body: Body) -> None:
    added = spec.worldbody.add_body(name=body.name, pos=body.place, quat=quaternion(body.turn))
    if body.moves == "freely":
        added.add_freejoint(name=body.name)
    if body.hinge is not None:
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, quaternion(body.turn))
        to_body = turned.reshape(3, 3).T
        far = to_body @ (np.array(body.hinge.point) - np.array(body.place))
        if body.moves == "about its hinge":
            added.add_joint(
                name=body.name,
                type=mujoco.mjtJoint.mjJNT_HINGE,
                pos=far,
                axis=to_body @ np.array({"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0]}[body.hinge.axis]),
                damping=STIFF_HINGE if body.shape == "plank" else FREE_HINGE,
            )
        if np.linalg.norm(far) > max(body.size):
            _add_rod(added, body.name, far)
    elif body.moves == "about its hinge":
        raise ValueError(f"Expected {body.name} to have a hinge, since it turns about one.")
    red, green, blue = COLOURS[body.colour]
    parts = _tray(body.size) if body.shape == "tray" else [([0.0, 0.0, 0.0], body.size)]
    for centre, size in parts:
        added.add_geom(
            type=_GEOMS.get(body.shape, mujoco.mjtGeom.mjGEOM_BOX),
            pos=centre,
            size=[*size, 0.0, 0.0][:3],
            mass=body.mass / len(parts),
            rgba=[red, green, blue, 1.0],
            friction=[body.friction, SPINNING, ROLLING],
            solref=_contact(body.bounce),
            # Only what rolls needs friction against it: a contact has that of the body with more.
            condim=6 if body.shape in _GEOMS else 3,
        )


_GEOMS = {"ball": mujoco.mjtGeom.mjGEOM_SPHERE, "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER}


def _add_rod(parent: mujoco.MjsBody, name: str, far: NDArray[np.float64]) -> None:
    """Add the visible rod from a body to its hinge; a body of its own, which touches nothing."""
    parent.add_body(name=f"rod of {name}").add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[0.0, 0.0, 0.0, *far],
        size=[0.008, 0.0, 0.0],
        mass=0.0,
        rgba=[0.3, 0.3, 0.3, 1.0],
        contype=0,
        conaffinity=0,
    )


def _tray(size: Sequence[float]) -> list[tuple[list[float], list[float]]]:
    """A floor and four walls: centres and half sizes."""
    x, y, z = size
    return [
        ([0.0, 0.0, WALL - z], [x, y, WALL]),
        ([WALL - x, 0.0, 0.0], [WALL, y, z]),
        ([x - WALL, 0.0, 0.0], [WALL, y, z]),
        ([0.0, WALL - y, 0.0], [x, WALL, z]),
        ([0.0, y - WALL, 0.0], [x, WALL, z]),
    ]


def _contact(bounce: float) -> list[float]:
    """MuJoCo's stiffness and damping of a contact that leaves this share of the speed; less than 0.15 counts as
    0.15."""
    return [-STIFFNESS, -_CRITICAL * float(np.interp(bounce, _REBOUND[::-1], _RATIOS[::-1]))]


_RATIOS = np.linspace(0.0, 0.9, 91)
_ROOT = np.sqrt(1.0 - _RATIOS**2)
_REBOUND = np.exp(-2.0 * _RATIOS / _ROOT * np.arctan2(_ROOT, _RATIOS))
"""The speed after a contact that pushes and never pulls, as a share of the speed before it, for each damping ratio: the
oscillator x'' + 2 ratio x' + x = 0, x(0) = 0, x'(0) = 1, until its acceleration is zero."""


def quaternion(turn: Sequence[float]) -> NDArray[np.float64]:
    """The rotation by degrees about x, y and z of the world, in this order, as MuJoCo's quaternion (w first)."""
    whole = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, degrees in zip(np.eye(3), turn, strict=True):
        one, product = np.zeros(4), np.zeros(4)
        mujoco.mju_axisAngle2Quat(one, axis, np.radians(degrees))
        mujoco.mju_mulQuat(product, one, whole)
        whole = product
    return whole


_SIZES = {"ball": 1, "cylinder": 2}
INSIDE = 0.01
"""Metres by which bodies may lie in each other, or in the floor, at the start."""


def problems_of(scene: Scene) -> list[str]:
    """Return the problems that prevent a scene from being run, a sentence each; empty if there are none."""
    problems = [problem for body in scene.bodies for problem in _problems_of_body(body)]
    problems += _problems_of_view(scene)
    return problems or list(_problems_of_start(scene))


def _problems_of_body(body: Body) -> Iterator[str]:
    if body.colour not in COLOURS:
        yield f"{body.name} has the colour {body.colour}, which is none of {', '.join(COLOURS)}"
    if not np.isfinite([*body.size, *body.place, *body.turn, *body.velocity, body.mass, body.friction]).all():
        yield f"{body.name} has numbers that are not finite"
    wanted = _SIZES.get(body.shape, 3)
    if len(body.size) != wanted or min(body.size) <= 0:
        yield f"{body.name} has the sizes {body.size}, but a {body.shape} has {wanted}, all above 0"
    if (body.moves == "about its hinge") != (body.hinge is not None):
        yield f"{body.name} moves {body.moves}, and {'has no' if body.hinge is None else 'has a'} hinge"
    if body.moves != "freely" and any(body.velocity):
        yield f"{body.name} has a velocity, and moves {body.moves}"
    if body.shape == "tray" and body.moves != "not at all":
        yield f"{body.name} is a tray and moves {body.moves}, but what ends up in a tray is known of fixed ones alone"


def _problems_of_view(scene: Scene) -> Iterator[str]:
    camera, light = scene.camera, scene.light
    if not np.isfinite([*camera.place, *camera.target, camera.travel, *light]).all():
        yield "its camera or its light has numbers that are not finite"
    elif camera.place[:2] == camera.target[:2]:
        yield "its camera stands right above or below what it looks at, so that nothing says which way is up"
    elif not any(light):
        yield "its light is at the origin, where it shines nowhere"


def _problems_of_start(scene: Scene) -> Iterator[str]:
    try:
        model = build_model(scene)
        data = start(model, scene)
    except ValueError as error:
        yield f"MuJoCo refuses it: {error}"
        return
    names = {model.body(body.name).id: body.name for body in scene.bodies}
    free = {model.body(body.name).id for body in scene.bodies if body.moves == "freely"}
    found = set()
    for geoms, distance in zip(data.contact.geom, data.contact.dist, strict=True):
        pair = {int(body) for body in np.take(model.geom_bodyid, geoms)}
        if distance < -INSIDE and pair & free:
            found.add(" and ".join(sorted(names.get(body, "the floor") for body in pair)))
    yield from (f"{pair} lie in each other at the start" for pair in sorted(found))
