"""Clips with a cause in them and clips without, to be shown forwards and backwards."""

import random
from collections.abc import Callable, Sequence

from lmms_eval_tasks.sample.scenes.minimal_pairs import side_world
from lmms_eval_tasks.sample.scenes.table import rims
from lmms_eval_tasks.sample.world.bodies import (
    SHAPES,
    SIDE_VIEW_ROUGH,
    FlatBody,
    FlatWorld,
    Laws,
    Wall,
    Waypoint,
    scripted,
)
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.scene import (
    HEIGHT,
    WIDTH,
    DrawnScene,
    draw_look,
    draw_skins,
    mirrored,
    require,
    required,
    until_accepted,
)

DURATION = 3.0
_BRAKING = Laws(gravity=0.0, table_friction=45.0, rolling_friction=0.0, bounce=0.9, wall_bounce=0.6)
_TURNS = 360


@until_accepted
def a_hit(rng: random.Random) -> tuple[DrawnScene, str]:
    """On a table that brakes, a ball runs into one at rest and sets it moving."""
    y = rng.uniform(45, HEIGHT - 45)
    runner = FlatBody("runner", "ball", rng.uniform(8, 11), (rng.uniform(18, 30), y), (rng.uniform(125, 165), 0.0))
    target = FlatBody("target", "ball", rng.uniform(8, 11), (rng.uniform(85, 110), y + rng.uniform(-5, 5)))
    scene = _scene(rng, FlatWorld(_BRAKING, (runner, target), rims()))
    require(0.3 < required(scene.simulate().first_contact("runner", ("target",))).time < 1.5)
    return scene, f"The {scene.called('runner')} rolls into the {scene.called('target')} and pushes it away."


@until_accepted
def a_fall(rng: random.Random) -> tuple[DrawnScene, str]:
    """A ball rolls off a ledge, falls, and bounces until it lies still."""
    top, edge, size = rng.uniform(40, 60), rng.uniform(60, 90), rng.uniform(8, 11)
    ball = FlatBody("ball", "ball", size, (rng.uniform(15, 35), top - 2.0 - size), (rng.uniform(55, 80), 0.0))
    scene = _scene(rng, side_world((ball,), (Wall("ledge", (-4.0, top), (edge, top)),), SIDE_VIEW_ROUGH))
    require(0.8 < required(scene.simulate().first_contact("ball", ("floor",))).time < 1.9)
    return scene, f"The {scene.called('ball')} rolls off a ledge, falls and bounces on the floor."


def a_break(rng: random.Random) -> tuple[DrawnScene, str]:
    """A fast ball runs into a heap of blocks, which flies apart."""
    size, x, y = 5.0, rng.uniform(95, 115), rng.uniform(55, HEIGHT - 55)
    places = ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0))
    heap = tuple(
        FlatBody(f"piece {number}", "block", size, (x + 10.6 * across, y + 10.6 * down - 5.3))
        for number, (across, down) in enumerate(places)
    )
    ball = FlatBody("ball", "ball", rng.uniform(9, 11), (22.0, y + rng.uniform(-4, 4)), (rng.uniform(160, 200), 0.0))
    scene = _scene(rng, FlatWorld(_BRAKING, (ball, *heap), rims()), alike=[body.name for body in heap])
    return scene, f"The {scene.called('ball')} hits a heap of blocks, and the heap breaks apart."


def a_pendulum(rng: random.Random) -> tuple[DrawnScene, str]:
    """A ball swings from side to side, as it would in reverse."""
    length, swing, turns = rng.uniform(70, 90), rng.uniform(35, 55), rng.choice((1.5, 2.0, 2.5))
    pivot = (WIDTH / 2 + rng.uniform(-15, 15), 15.0)
    start = rng.randrange(_TURNS)
    path = [
        (time, pivot[0] + swing * cosine, pivot[1] + (length**2 - (swing * cosine) ** 2) ** 0.5)
        for time, cosine, _ in _circle(turns, start)
    ]
    scene = _scene(rng, FlatWorld(_BRAKING, (scripted("ball", "ball", rng.uniform(8, 11), path),)))
    return scene, f"The {scene.called('ball')} swings to and fro like a pendulum."


def a_rotation(rng: random.Random) -> tuple[DrawnScene, str]:
    """Two bodies go round a centre at an even pace."""
    radius, turns, start = rng.uniform(35, 50), rng.choice((1.0, 1.5, 2.0)), rng.randrange(_TURNS)
    centre = (WIDTH / 2 + rng.uniform(-20, 20), HEIGHT / 2)
    circle = _circle(turns, start)
    bodies = []
    for name, sign in (("first", 1.0), ("second", -1.0)):
        path = [(time, centre[0] + sign * radius * x, centre[1] + sign * radius * y) for time, x, y in circle]
        bodies.append(scripted(name, rng.choice(SHAPES), rng.uniform(8, 11), path))
    scene = _scene(rng, FlatWorld(_BRAKING, tuple(bodies)))
    return scene, f"A {scene.called('first')} and a {scene.called('second')} circle each other."


def _circle(turns: float, start: int) -> list[Waypoint]:
    """A unit circle over the whole clip, without trigonometry, whose last digits differ between machines."""
    steps = round(DURATION * FPS * 4)
    # Half-angle form of a rotation by about 2*pi*turns/steps; 3.1416 is near enough, and the pair stays on the circle.
    half = 3.1416 * turns / steps
    cosine, sine = (1 - half * half) / (1 + half * half), 2 * half / (1 + half * half)
    first = 3.1416 / _TURNS
    turn = ((1 - first * first) / (1 + first * first), 2 * first / (1 + first * first))
    at = (1.0, 0.0)
    for _ in range(start):
        at = (at[0] * turn[0] - at[1] * turn[1], at[0] * turn[1] + at[1] * turn[0])
    circle = []
    for number in range(steps + 1):
        circle.append((number / (FPS * 4), *at))
        at = (at[0] * cosine - at[1] * sine, at[0] * sine + at[1] * cosine)
    return circle


def _scene(rng: random.Random, world: FlatWorld, alike: Sequence[str] = ()) -> DrawnScene:
    names = [body.name for body in world.bodies if body.name not in alike]
    skins = draw_skins(rng, [*names, *alike[:1]])
    for name in alike:
        skins[name] = skins[alike[0]]
    mirror = rng.random() < 0.5
    scene = DrawnScene(world, draw_look(rng), skins, DURATION)
    return mirrored(scene) if mirror else scene


SceneFamily = Callable[[random.Random], tuple[DrawnScene, str]]
"""Draws a scene with its caption."""
CAUSAL: tuple[SceneFamily, ...] = (a_hit, a_fall, a_break)
NOT_CAUSAL: tuple[SceneFamily, ...] = (a_pendulum, a_rotation)
