"""Minimal pairs of a hand or a robot arm that handles objects."""

import random

from lmms_eval_tasks.sample.scenes.pairs import FLOOR, PairDraft, scene_pair, side_world
from lmms_eval_tasks.sample.scenes.table import HAND, comes_to_rest, gaps_to, pushed_by_hand, rims
from lmms_eval_tasks.sample.world.bodies import SHAPES, SIDE_VIEW_ROUGH, TOP_VIEW, Body, Vec, Wall, World, scripted
from lmms_eval_tasks.sample.world.physics import FPS, SUBSTEPS, simulate
from lmms_eval_tasks.sample.world.scene import draw_look, draw_skins, require, until_accepted

THING, GOAL, OTHER = "thing", "goal", "other goal"
_AXES: tuple[Vec, ...] = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def in_or_out(rng: random.Random) -> PairDraft:
    """A hand puts a ball into a box, or takes it out."""
    size, hand = rng.uniform(5.5, 7.0), 6.0
    half = size + hand + rng.uniform(3, 6)
    box, ground = rng.uniform(125, 155), rng.uniform(40, 70)
    sides = tuple(Wall(f"side {x:.0f}", (x, FLOOR - rng.uniform(24, 30)), (x, FLOOR)) for x in (box - half, box + half))
    skins, look, mirror = draw_skins(rng, (THING,)), draw_look(rng), rng.random() < 0.5

    def carry(start: float, end: float) -> World:
        grasp = FLOOR - 2 * size - hand - 0.8
        # What lies on the floor sinks by a step's fall before the floor lifts it; the hand takes it at the lowest.
        below = FLOOR - size - grasp + SIDE_VIEW_ROUGH.gravity / (FPS * SUBSTEPS) ** 2
        stops = (
            (0.0, start, 18.0), (0.3, start, 18.0), (0.9, start, grasp), (1.0, start, grasp), (1.5, start, 52.0),
            (2.1, end, 52.0), (2.6, end, grasp), (2.7, end, grasp), (3.2, end, 18.0), (3.4, end, 18.0),
        )  # fmt: skip
        carried = tuple((time, x, y + below) for time, x, y in stops[3:-3])
        ball = Body(THING, "ball", size, (start, FLOOR - size), path=carried)
        return side_world((ball, scripted(HAND, "ball", hand, stops, (0.0, -1.0))), sides, SIDE_VIEW_ROUGH)

    scenes = scene_pair((carry(ground, box), carry(box, ground)), look, skins, 3.4, mirror)
    question = f"What does the hand do with the {scenes[0].called(THING)}?"
    return PairDraft(question, ("It puts the ball into the box", "It takes the ball out of the box"), scenes)


def push_left_or_right(rng: random.Random) -> PairDraft:
    """A hand pushes a ball along the floor, from left to right or from right to left."""
    size, speed, middle = rng.uniform(5.5, 7.5), rng.uniform(28, 38), rng.uniform(80, 112)
    skins, look = draw_skins(rng, (THING,)), draw_look(rng)
    still = side_world((Body(THING, "ball", size, (middle, FLOOR - size)),), (), SIDE_VIEW_ROUGH)
    worlds = pushed_by_hand(still, THING, (1.0, 0.0), speed), pushed_by_hand(still, THING, (-1.0, 0.0), speed)
    scenes = scene_pair(worlds, look, skins, 3.2)
    question = f"In which direction does the hand push the {scenes[0].called(THING)}?"
    return PairDraft(question, ("From left to right", "From right to left"), scenes)


@until_accepted
def fall_or_stay(rng: random.Random) -> PairDraft:
    """A hand pushes a ball so that it falls off a shelf, or a little less so that it stays on it."""
    size, height, edge = rng.uniform(5.5, 7.0), rng.uniform(66, 92), rng.uniform(100, 125)
    start = edge - rng.uniform(42, 54)
    shelf = Wall("shelf", (-4.0, height + 2.5), (edge, height + 2.5), 2.5)
    still = side_world((Body(THING, "ball", size, (start, height - size)),), (shelf,), SIDE_VIEW_ROUGH)
    skins, look, mirror = draw_skins(rng, (THING,)), draw_look(rng), rng.random() < 0.5
    fast, slow = rng.uniform(40, 50), rng.uniform(23, 27)
    worlds = pushed_by_hand(still, THING, (1.0, 0.0), fast), pushed_by_hand(still, THING, (1.0, 0.0), slow)
    scenes = scene_pair(worlds, look, skins, 3.4, mirror)
    falls, stays = (scene.simulate() for scene in scenes)
    require(falls.displacement(THING)[1] >= 30)
    require(abs(stays.displacement(THING)[1]) <= 1 and comes_to_rest(stays, THING))
    question = f"The hand pushes the {scenes[0].called(THING)}. Does it fall off the shelf, or does it stay on it?"
    return PairDraft(question, ("It falls off the shelf", "It stays on the shelf"), scenes)


@until_accepted
def which_goal(rng: random.Random) -> PairDraft:
    """A robot arm pushes a block up to one of two objects."""
    start, side = (rng.uniform(80, 112), rng.uniform(62, 82)), rng.randrange(4)
    ways = _AXES[side], _AXES[(side + rng.choice([1, 3])) % 4]
    thing = Body(THING, "block", rng.uniform(6, 7.5), start)
    table = World(TOP_VIEW, (thing,), rims())
    speeds = rng.uniform(20, 24), rng.uniform(20, 24)
    goals: list[Body] = []
    for name, way, speed in zip((GOAL, OTHER), ways, speeds, strict=True):
        x, y = simulate(pushed_by_hand(table, THING, way, speed), 3.4).place(THING)
        size = rng.uniform(6, 7.5)
        ahead = thing.size + size + rng.uniform(3, 5)
        at = (x + ahead * way[0], y + ahead * way[1])
        goals.append(Body(name, rng.choice(SHAPES), size, at))
    world = World(TOP_VIEW, (thing, *goals), rims())
    skins, look = draw_skins(rng, (THING, GOAL, OTHER)), draw_look(rng)
    worlds = pushed_by_hand(world, THING, ways[0], speeds[0]), pushed_by_hand(world, THING, ways[1], speeds[1])
    scenes = scene_pair(worlds, look, skins, 3.4)
    for scene, near, far in zip(scenes, (GOAL, OTHER), (OTHER, GOAL), strict=True):
        trajectory = scene.simulate()
        gaps = gaps_to(scene.world, trajectory, THING, -1)
        before = gaps_to(scene.world, trajectory, THING, 0)
        require(1 < gaps[near] < 7 and gaps[far] > 14 and min(before[near], before[far]) > 14)
        require(comes_to_rest(trajectory, THING))
    question = f"Towards which object does the robot arm push the {scenes[0].called(THING)}?"
    answers = f"Towards the {scenes[0].called(GOAL)}", f"Towards the {scenes[0].called(OTHER)}"
    return PairDraft(question, answers, scenes)


@until_accepted
def closer_or_farther(rng: random.Random) -> PairDraft:
    """A robot arm pushes a block closer to another object, or farther away from it."""
    thing = Body(THING, "block", rng.uniform(6, 7.5), (rng.uniform(70, 84), rng.uniform(50, 94)))
    shift = rng.uniform(-8, 8)
    other = Body(GOAL, rng.choice(SHAPES), rng.uniform(6, 7.5),
                 (thing.position[0] + rng.uniform(80, 88), thing.position[1] + shift))  # fmt: skip
    world = World(TOP_VIEW, (thing, other), rims())
    skins, look, mirror = draw_skins(rng, (THING, GOAL)), draw_look(rng), rng.random() < 0.5
    speed, arm = rng.uniform(20, 25), (0.0, rng.choice([-1.0, 1.0]))
    worlds = pushed_by_hand(world, THING, (1.0, 0.0), speed, arm), pushed_by_hand(world, THING, (-1.0, 0.0), speed, arm)
    scenes = scene_pair(worlds, look, skins, 3.4, mirror)
    for scene, sign in zip(scenes, (-1, 1), strict=True):
        trajectory = scene.simulate()
        before, after = (gaps_to(scene.world, trajectory, THING, frame)[GOAL] for frame in (0, -1))
        require((after - before) * sign >= 12 and comes_to_rest(trajectory, THING))
    question = (
        f"Does the robot arm push the {scenes[0].called(THING)} closer to the {scenes[0].called(GOAL)}, "
        "or farther away from it?"
    )
    return PairDraft(question, ("Closer to it", "Farther from it"), scenes)
