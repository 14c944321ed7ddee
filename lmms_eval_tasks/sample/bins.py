"""Side view: a ball rolls off a ledge and falls into one of six bins, past a slanted bar or not."""

import math
import random
from dataclasses import dataclass, replace

import numpy as np

from lmms_eval_tasks.sample.physics import SIDE_VIEW, Body, Trajectory, Wall, World, simulate
from lmms_eval_tasks.sample.scenes import (
    COLOURS,
    WIDTH,
    Scene,
    Skin,
    bar,
    draw_look,
    draw_skin,
    mirrored,
    with_velocity,
)
from lmms_eval_tasks.sample.wording import BINS

FLOOR = 135.0
RIM = 110.0
BAR = "slanted bar"
DURATION = 3.6
SLOWEST, FASTEST = 17.0, 118.0
OUTSIDE = -1
TOLERANCES = (0.95, 1.0, 1.05)


@dataclass(frozen=True)
class BinScene:
    """A scene with one ball that is launched, and where the walls between the bins stand (x in px)."""

    scene: Scene
    ball: str
    edges: tuple[float, ...]

    @property
    def world(self) -> World:
        """The scene's world."""
        return self.scene.world


@dataclass(frozen=True)
class Aim:
    """Where a ball is to fall: in which bin, with its speed multiplied by `factor`, from the other side or not."""

    number: int
    factor: float = 1.0
    other_side: bool = False


def draw_bins(rng: random.Random, aim: Aim, decoys: int) -> BinScene | None:
    """A ledge on either side with a rolling ball, six bins of unequal widths, resting decoys in some.

    None when no speed in the usual range would do what `aim` says.
    """
    mirror = rng.random() < 0.5
    widths = [rng.uniform(25, 36) for _ in range(BINS)]
    edges = [6.0]
    for width in widths:
        edges.append(edges[-1] + width * 180 / sum(widths))
    height, end, size = rng.uniform(34, 46), rng.uniform(24, 33), rng.uniform(5.7, 6.7)
    start = (rng.uniform(7, 11), height - 2.5 - size)
    number = BINS - 1 - aim.number if mirror else aim.number
    goal = edges[number] + rng.uniform(0.35, 0.65) * (edges[number + 1] - edges[number])
    goal = WIDTH - goal if aim.other_side else goal
    speed = (goal - end) / _time_to_rim(start[1], size) / aim.factor
    if not SLOWEST < speed < FASTEST:
        return None
    ball = Body("ball", "ball", size, start, (speed, 0.0))
    resting = []
    for name, place in enumerate(rng.sample(range(1, BINS), decoys)):
        decoy = rng.uniform(5.5, 7.0)
        middle = (edges[place] + edges[place + 1]) / 2
        resting.append(Body(f"decoy {name}", rng.choice(["ball", "block"]), decoy, (middle, FLOOR - decoy)))
    world = World(SIDE_VIEW, (ball, *resting), (bar("ledge", (-4.0, height), (end, height), 2.5),))
    if mirror:
        world = mirrored(world)
        edges = [WIDTH - edge for edge in reversed(edges)]
    dividers = tuple(bar(f"divider {i}", (x, RIM), (x, FLOOR + 3), 1.5) for i, x in enumerate(edges))
    floor = bar("floor", (-4.0, FLOOR + 3), (WIDTH + 4.0, FLOOR + 3), 3.0)
    world = World(world.laws, world.bodies, (*world.walls, *dividers, floor))
    colours = rng.sample(COLOURS, len(world.bodies))
    skins: dict[str, Skin] = {body.name: draw_skin(rng, c) for body, c in zip(world.bodies, colours, strict=True)}
    return BinScene(Scene(world, draw_look(rng), skins, DURATION), "ball", tuple(edges))


def _time_to_rim(height: float, size: float) -> float:
    return math.sqrt(2 * (RIM - size - height) / SIDE_VIEW.gravity)


def bin_of(bins: BinScene, trajectory: Trajectory) -> int | None:
    """The bin in which the ball lies at the end, None when it lies in none."""
    x, y = trajectory.path(bins.ball)[-1]
    if y < RIM:
        return None
    return next((i for i in range(BINS) if bins.edges[i] < x < bins.edges[i + 1]), None)


def landing(bins: BinScene, world: World, factor: float = 1.0) -> int | None:
    """The bin into which the ball falls in `world` at `factor` times its speed, OUTSIDE when it misses them all.

    None when five percent of speed more or less would change the outcome, or when the ball grazes a rim on its way:
    no scene may ask more of the eye than a clip shows.
    """
    outcomes = set()
    for tolerance in TOLERANCES:
        body = world.body(bins.ball)
        launched = with_velocity(body, (body.velocity[0] * factor * tolerance, 0.0))
        trajectory = simulate(world.replacing(launched), DURATION)
        if _grazes(trajectory, bins.ball):
            return None
        number = bin_of(bins, trajectory)
        outcomes.add(OUTSIDE if number is None else number)
    return outcomes.pop() if len(outcomes) == 1 else None


def may_land(bins: BinScene, factor: float, number: int) -> bool:
    """Whether the ball falls into a bin at `factor` times its speed, or might, at six percent more or less."""
    if number in (expected(bins, 0.94 * factor), expected(bins, 1.06 * factor)):
        return True
    body = bins.world.body(bins.ball)
    for percent in range(94, 107, 2):
        launched = with_velocity(body, (body.velocity[0] * factor * percent / 100, 0.0))
        if bin_of(bins, simulate(bins.world.replacing(launched), DURATION)) == number:
            return True
    return False


def _grazes(trajectory: Trajectory, ball: str) -> bool:
    """Whether the ball touches a wall between bins while its centre is clearly above the rims."""
    contacts = [c for c in trajectory.contacts if (c.partner(ball) or "").startswith("divider")]
    return any(np.interp(c.time, trajectory.times, trajectory.path(ball)[:, 1]) < RIM - 2 for c in contacts)


def expected(bins: BinScene, factor: float) -> int | None:
    """The bin that the ball would reach in undisturbed flight: a cheap guess that spares most simulations."""
    body = bins.world.body(bins.ball)
    ledge = next(wall for wall in bins.world.walls if wall.name == "ledge")
    x = ledge.end[0] + body.velocity[0] * factor * _time_to_rim(body.position[1], body.size)
    return next((i for i in range(BINS) if bins.edges[i] < x < bins.edges[i + 1]), None)


def on_the_other_side(bins: BinScene) -> World:
    """The world with ledge and ball exchanged for their mirror images, the bins left as they are."""
    image = mirrored(bins.world)
    ledge = next(wall for wall in image.walls if wall.name == "ledge")
    walls = tuple(ledge if wall.name == "ledge" else wall for wall in bins.world.walls)
    return World(bins.world.laws, bins.world.bodies, walls).replacing(image.body(bins.ball))


def with_bar(rng: random.Random, bins: BinScene) -> BinScene | None:
    """The scene with a slanted bar across the ball's fall, None when the ball misses it or it crosses other walls."""
    path = simulate(bins.world, DURATION).path(bins.ball)
    level = path[0][1]
    fall = [(float(x), float(y)) for x, y in path if level + 18 < y < RIM - 22]
    if not fall:
        return None
    x, y = rng.choice(fall)
    lean, half = rng.choice([-1, 1]) * rng.uniform(4, 10), rng.uniform(9, 13)
    across, shift = bins.world.body(bins.ball).size + 2.0, rng.uniform(-4, 4)
    centre = (x + shift, y + across)
    if not 18 < centre[0] < WIDTH - 18:
        return None
    slanted: Wall = bar(BAR, (centre[0] - half, centre[1] - lean), (centre[0] + half, centre[1] + lean))
    world = World(bins.world.laws, bins.world.bodies, (*bins.world.walls, slanted))
    contact = simulate(world, DURATION).first_contact(bins.ball, {BAR})
    if contact is None:
        return None
    return replace(bins, scene=replace(bins.scene, world=world))


def time_of_fall(bins: BinScene, trajectory: Trajectory, part: float) -> float:
    """When the ball has fallen for `part` of the time between the ledge and the rims of the bins, in seconds."""
    y = trajectory.path(bins.ball)[:, 1]
    start = next(t for t in range(len(y)) if y[t] > y[0] + 0.5)
    end = next(t for t in range(len(y)) if y[t] > RIM - bins.world.body(bins.ball).size)
    return float(trajectory.times[start] + part * (trajectory.times[end] - trajectory.times[start]))
