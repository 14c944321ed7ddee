"""Whether a scene can be run: what its form does not say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lmms_eval_tasks.worlds.engine.mechanics import build_model, start
from lmms_eval_tasks.worlds.engine.scene import COLOURS, Body, Scene

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
