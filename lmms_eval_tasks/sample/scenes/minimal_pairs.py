"""Minimal pairs: one question, two answers, and for each answer a scene in which it is true."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lmms_eval_tasks.sample.scenes.table import HAND, comes_to_rest, gaps_to, pushed_by_hand, rims, turned
from lmms_eval_tasks.sample.world.bodies import (
    SHAPES,
    SIDE_VIEW,
    SIDE_VIEW_ROUGH,
    TOP_VIEW,
    FlatBody,
    FlatWorld,
    Laws,
    Wall,
    scripted,
)
from lmms_eval_tasks.sample.world.physics import FPS, SUBSTEPS, simulate
from lmms_eval_tasks.sample.world.scene import (
    HEIGHT,
    WIDTH,
    DrawnScene,
    Look,
    Rect,
    Skin,
    draw_look,
    draw_skins,
    mirrored,
    require,
    until_accepted,
)

BALL, ONE, OTHER = "ball", "one", "other"
THING, GOAL, OTHER_GOAL = "thing", "goal", "other goal"
FLOOR = 135.0


@dataclass(frozen=True)
class PairDraft:
    """Two scenes that differ in one thing; `answers[i]` is true in `scenes[i]` and false in the other."""

    question: str
    answers: tuple[str, str]
    scenes: tuple[DrawnScene, DrawnScene]


PairFamily = Callable[[random.Random], PairDraft]


def side_world(bodies: tuple[FlatBody, ...], walls: tuple[Wall, ...], laws: Laws = SIDE_VIEW) -> FlatWorld:
    """A side view with a floor."""
    return FlatWorld(laws, bodies, (*walls, Wall("floor", (-4.0, FLOOR + 3), (WIDTH + 4.0, FLOOR + 3), 3.0)))


def scene_pair(
    both: tuple[FlatWorld, FlatWorld],
    look: Look,
    skins: dict[str, Skin],
    duration: float,
    mirror: bool = False,
    screens: tuple[Rect, ...] = (),
) -> tuple[DrawnScene, DrawnScene]:
    """Two scenes that share everything but their world; both are mirrored, or neither."""
    one, other = (DrawnScene(world, look, skins, duration, screens) for world in both)
    return (mirrored(one), mirrored(other)) if mirror else (one, other)


def in_or_out(rng: random.Random) -> PairDraft:
    """A hand puts a ball into a box, or takes it out."""
    size, hand = rng.uniform(5.5, 7.0), 6.0
    half = size + hand + rng.uniform(3, 6)
    box, ground = rng.uniform(125, 155), rng.uniform(40, 70)
    sides = tuple(Wall(f"side {x:.0f}", (x, FLOOR - rng.uniform(24, 30)), (x, FLOOR)) for x in (box - half, box + half))
    skins, look, mirror = draw_skins(rng, (THING,)), draw_look(rng), rng.random() < 0.5

    def carry(start: float, end: float) -> FlatWorld:
        grasp = FLOOR - 2 * size - hand - 0.8
        # What lies on the floor sinks by a step's fall before the floor lifts it; the hand takes it at the lowest.
        below = FLOOR - size - grasp + SIDE_VIEW_ROUGH.gravity / (FPS * SUBSTEPS) ** 2
        stops = (
            (0.0, start, 18.0), (0.3, start, 18.0), (0.9, start, grasp), (1.0, start, grasp), (1.5, start, 52.0),
            (2.1, end, 52.0), (2.6, end, grasp), (2.7, end, grasp), (3.2, end, 18.0), (3.4, end, 18.0),
        )  # fmt: skip
        carried = tuple((time, x, y + below) for time, x, y in stops[3:-3])
        ball = FlatBody(THING, "ball", size, (start, FLOOR - size), path=carried)
        return side_world((ball, scripted(HAND, "ball", hand, stops, (0.0, -1.0))), sides, SIDE_VIEW_ROUGH)

    scenes = scene_pair((carry(ground, box), carry(box, ground)), look, skins, 3.4, mirror)
    question = f"What does the hand do with the {scenes[0].called(THING)}?"
    return PairDraft(question, ("It puts the ball into the box", "It takes the ball out of the box"), scenes)


def push_left_or_right(rng: random.Random) -> PairDraft:
    """A hand pushes a ball along the floor, from left to right or from right to left."""
    size, speed, middle = rng.uniform(5.5, 7.5), rng.uniform(28, 38), rng.uniform(80, 112)
    skins, look = draw_skins(rng, (THING,)), draw_look(rng)
    still = side_world((FlatBody(THING, "ball", size, (middle, FLOOR - size)),), (), SIDE_VIEW_ROUGH)
    both = pushed_by_hand(still, THING, (1.0, 0.0), speed), pushed_by_hand(still, THING, (-1.0, 0.0), speed)
    scenes = scene_pair(both, look, skins, 3.2)
    question = f"In which direction does the hand push the {scenes[0].called(THING)}?"
    return PairDraft(question, ("From left to right", "From right to left"), scenes)


@until_accepted
def fall_or_stay(rng: random.Random) -> PairDraft:
    """A hand pushes a ball so that it falls off a shelf, or a little less so that it stays on it."""
    size, height, edge = rng.uniform(5.5, 7.0), rng.uniform(66, 92), rng.uniform(100, 125)
    start = edge - rng.uniform(42, 54)
    shelf = Wall("shelf", (-4.0, height + 2.5), (edge, height + 2.5), 2.5)
    still = side_world((FlatBody(THING, "ball", size, (start, height - size)),), (shelf,), SIDE_VIEW_ROUGH)
    skins, look, mirror = draw_skins(rng, (THING,)), draw_look(rng), rng.random() < 0.5
    fast, slow = rng.uniform(40, 50), rng.uniform(23, 27)
    both = pushed_by_hand(still, THING, (1.0, 0.0), fast), pushed_by_hand(still, THING, (1.0, 0.0), slow)
    scenes = scene_pair(both, look, skins, 3.4, mirror)
    falls, stays = (scene.simulate() for scene in scenes)
    require(falls.displacement(THING)[1] >= 30)
    require(abs(stays.displacement(THING)[1]) <= 1 and comes_to_rest(stays, THING))
    question = f"The hand pushes the {scenes[0].called(THING)}. Does it fall off the shelf, or does it stay on it?"
    return PairDraft(question, ("It falls off the shelf", "It stays on the shelf"), scenes)


@until_accepted
def which_goal(rng: random.Random) -> PairDraft:
    """A robot arm pushes a block up to one of two objects."""
    start, side = (rng.uniform(80, 112), rng.uniform(62, 82)), rng.randrange(4)
    ways = turned((1.0, 0.0), side), turned((1.0, 0.0), side + rng.choice([1, 3]))
    thing = FlatBody(THING, "block", rng.uniform(6, 7.5), start)
    table = FlatWorld(TOP_VIEW, (thing,), rims())
    speeds = rng.uniform(20, 24), rng.uniform(20, 24)
    goals: list[FlatBody] = []
    for name, way, speed in zip((GOAL, OTHER_GOAL), ways, speeds, strict=True):
        x, y = simulate(pushed_by_hand(table, THING, way, speed), 3.4).place(THING)
        size = rng.uniform(6, 7.5)
        ahead = thing.size + size + rng.uniform(3, 5)
        at = (x + ahead * way[0], y + ahead * way[1])
        goals.append(FlatBody(name, rng.choice(SHAPES), size, at))
    world = FlatWorld(TOP_VIEW, (thing, *goals), rims())
    skins, look = draw_skins(rng, (THING, GOAL, OTHER_GOAL)), draw_look(rng)
    both = pushed_by_hand(world, THING, ways[0], speeds[0]), pushed_by_hand(world, THING, ways[1], speeds[1])
    scenes = scene_pair(both, look, skins, 3.4)
    for scene, near, far in zip(scenes, (GOAL, OTHER_GOAL), (OTHER_GOAL, GOAL), strict=True):
        trajectory = scene.simulate()
        gaps = gaps_to(scene.world, trajectory, THING, -1)
        before = gaps_to(scene.world, trajectory, THING, 0)
        require(1 < gaps[near] < 7 and gaps[far] > 14 and min(before[near], before[far]) > 14)
        require(comes_to_rest(trajectory, THING))
    question = f"Towards which object does the robot arm push the {scenes[0].called(THING)}?"
    answers = f"Towards the {scenes[0].called(GOAL)}", f"Towards the {scenes[0].called(OTHER_GOAL)}"
    return PairDraft(question, answers, scenes)


@until_accepted
def closer_or_farther(rng: random.Random) -> PairDraft:
    """A robot arm pushes a block closer to another object, or farther away from it."""
    thing = FlatBody(THING, "block", rng.uniform(6, 7.5), (rng.uniform(70, 84), rng.uniform(50, 94)))
    shift = rng.uniform(-8, 8)
    other = FlatBody(GOAL, rng.choice(SHAPES), rng.uniform(6, 7.5),
                 (thing.position[0] + rng.uniform(80, 88), thing.position[1] + shift))  # fmt: skip
    world = FlatWorld(TOP_VIEW, (thing, other), rims())
    skins, look, mirror = draw_skins(rng, (THING, GOAL)), draw_look(rng), rng.random() < 0.5
    speed, arm = rng.uniform(20, 25), (0.0, rng.choice([-1.0, 1.0]))
    both = pushed_by_hand(world, THING, (1.0, 0.0), speed, arm), pushed_by_hand(world, THING, (-1.0, 0.0), speed, arm)
    scenes = scene_pair(both, look, skins, 3.4, mirror)
    for scene, sign in zip(scenes, (-1, 1), strict=True):
        trajectory = scene.simulate()
        before, after = (gaps_to(scene.world, trajectory, THING, frame)[GOAL] for frame in (0, -1))
        require((after - before) * sign >= 12 and comes_to_rest(trajectory, THING))
    question = (
        f"Does the robot arm push the {scenes[0].called(THING)} closer to the {scenes[0].called(GOAL)}, "
        "or farther away from it?"
    )
    return PairDraft(question, ("Closer to it", "Farther from it"), scenes)


def _ask_possible(
    rng: random.Random, real: FlatWorld, unreal: FlatWorld, duration: float, screens: tuple[Rect, ...] = ()
) -> PairDraft:
    mirror, look, skins = rng.random() < 0.5, draw_look(rng), draw_skins(rng, (BALL,))
    scenes = scene_pair((real, unreal), look, skins, duration, mirror, screens)
    question = f"Could the {scenes[0].called(BALL)} really move as it does in this clip?"
    return PairDraft(question, ("Yes, it could", "No, it could not"), scenes)


def vanishes_or_not(rng: random.Random) -> PairDraft:
    """A ball rolls behind a screen and comes out on the other side, or never."""
    size, speed, start = rng.uniform(5.5, 7.5), rng.uniform(56, 68), rng.uniform(12, 20)
    left, width, top = rng.uniform(72, 88), rng.uniform(30, 38), rng.uniform(92, 108)
    ball = FlatBody(BALL, "ball", size, (start, FLOOR - size), (speed, 0.0))
    hidden = replace(ball, vanishes_at=(left + width / 2 - start) / speed)
    screen = (left, top, left + width, FLOOR)
    return _ask_possible(rng, side_world((ball,), ()), side_world((hidden,), ()), 2.6, (screen,))


def solid_or_not(rng: random.Random) -> PairDraft:
    """A ball rolls against a post and bounces back, or rolls through it."""
    size, speed, start = rng.uniform(5.5, 7.5), rng.uniform(55, 68), rng.uniform(12, 22)
    x = rng.uniform(92, 112)
    post = Wall("post", (x, rng.uniform(88, 104)), (x, FLOOR), 3.5)
    ball = FlatBody(BALL, "ball", size, (start, FLOOR - size), (speed, 0.0))
    ghost = replace(ball, passes_through=frozenset({post.name}))
    return _ask_possible(rng, side_world((ball,), (post,)), side_world((ghost,), (post,)), 2.6)


def falls_or_hovers(rng: random.Random) -> PairDraft:
    """A ball rolls off a ledge and falls, or rolls on through the air."""
    size, speed, height = rng.uniform(5.5, 7.5), rng.uniform(38, 48), rng.uniform(56, 84)
    start, edge = rng.uniform(10, 18), rng.uniform(58, 76)
    ledge = Wall("ledge", (-4.0, height + 2.5), (edge, height + 2.5), 2.5)
    ball = FlatBody(BALL, "ball", size, (start, height - size), (speed, 0.0))
    weightless = side_world((ball,), (ledge,), replace(SIDE_VIEW, gravity=0.0))
    return _ask_possible(rng, side_world((ball,), (ledge,)), weightless, 2.8)


@until_accepted
def who_hits_whom(rng: random.Random) -> PairDraft:
    """One of two balls hits the other; which one moves is all that differs."""
    size = rng.uniform(6.5, 8.0)
    places = (rng.uniform(52, 64), rng.uniform(50, 92)), (rng.uniform(128, 140), rng.uniform(50, 92))
    away = (places[1][0] - places[0][0], places[1][1] - places[0][1])
    length = (away[0] ** 2 + away[1] ** 2) ** 0.5
    speed = rng.uniform(80, 90)
    velocity = (speed * away[0] / length, speed * away[1] / length)
    one, other = FlatBody(ONE, "ball", size, places[0]), FlatBody(OTHER, "ball", size, places[1])
    hits = FlatWorld(TOP_VIEW, (replace(one, velocity=velocity), other), rims())
    is_hit = FlatWorld(TOP_VIEW, (one, replace(other, velocity=(-velocity[0], -velocity[1]))), rims())
    scenes = scene_pair((hits, is_hit), draw_look(rng), draw_skins(rng, (ONE, OTHER)), 3.0)
    for scene, struck in zip(scenes, (OTHER, ONE), strict=True):
        trajectory = scene.simulate()
        require(sum(map(abs, trajectory.displacement(struck))) >= 12 and comes_to_rest(trajectory, struck))
    answers = f"The {scenes[0].called(ONE)}", f"The {scenes[0].called(OTHER)}"
    return PairDraft("Which ball sets the other one in motion?", answers, scenes)


def which_falls_first(rng: random.Random) -> PairDraft:
    """Two balls hang from the ceiling and fall one after the other."""
    sizes, top = (rng.uniform(6, 7.5), rng.uniform(6, 7.5)), rng.uniform(16, 34)
    places = rng.uniform(40, 70), rng.uniform(122, 152)
    early, late = rng.uniform(0.4, 0.7), rng.uniform(1.2, 1.6)
    hooks = tuple(Wall(f"hook {x:.0f}", (x, -4.0), (x, top - 3)) for x in places)

    def drop(times: tuple[float, float]) -> FlatWorld:
        bodies = tuple(
            FlatBody(name, "ball", size, (x, top + size), path=((0.0, x, top + size), (t, x, top + size)))
            for name, size, x, t in zip((ONE, OTHER), sizes, places, times, strict=True)
        )
        return side_world(bodies, hooks)

    both = drop((early, late)), drop((late, early))
    scenes = scene_pair(both, draw_look(rng), draw_skins(rng, (ONE, OTHER)), 3.2)
    answers = f"The {scenes[0].called(ONE)}", f"The {scenes[0].called(OTHER)}"
    return PairDraft("Which ball falls first?", answers, scenes)


@until_accepted
def which_is_pushed_first(rng: random.Random) -> PairDraft:
    """An arm pushes two objects one after the other."""
    hand, base = 5.0, HEIGHT - 10.0
    bodies = tuple(
        FlatBody(name, rng.choice(SHAPES), rng.uniform(6.5, 8), (x, rng.uniform(82, 96)))
        for name, x in ((ONE, rng.uniform(46, 70)), (OTHER, rng.uniform(122, 146)))
    )

    def push(order: tuple[int, int]) -> FlatWorld:
        stops, time = [(0.0, bodies[order[0]].position[0], base)], 0.3
        for number in order:
            x, y = bodies[number].position
            touch = y + bodies[number].size + hand
            stops += [(time, x, base), (time + 0.8, x, touch - 6), (time + 1.2, x, base)]
            time += 1.75
        return FlatWorld(TOP_VIEW, (*bodies, scripted(HAND, "ball", hand, stops, (0.0, 1.0))), rims())

    skins, look = draw_skins(rng, (ONE, OTHER)), draw_look(rng)
    scenes = scene_pair((push((0, 1)), push((1, 0))), look, skins, 4.0)
    for scene, order in zip(scenes, ((ONE, OTHER), (OTHER, ONE)), strict=True):
        trajectory = scene.simulate()
        paths = [trajectory.path(name) for name in order]
        first, second = (int(np.argmax(np.abs(path - path[0]).sum(axis=1) > 1.0)) for path in paths)
        require(second - first >= 8)
        require(all(trajectory.displacement(name)[1] < -6 for name in (ONE, OTHER)))
    one, other = scenes[0].called(ONE), scenes[0].called(OTHER)
    answers = f"First the {one}, then the {other}", f"First the {other}, then the {one}"
    return PairDraft("In which order does the arm push the two objects?", answers, scenes)
