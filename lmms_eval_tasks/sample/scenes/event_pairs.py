"""Minimal pairs about the laws of motion and about the order of events."""

import random
from dataclasses import replace

import numpy as np

from lmms_eval_tasks.sample.scenes.pairs import FLOOR, PairDraft, scene_pair, side_world
from lmms_eval_tasks.sample.scenes.table import HAND, comes_to_rest, rims
from lmms_eval_tasks.sample.world.bodies import SHAPES, SIDE_VIEW, TOP_VIEW, Body, Wall, World, scripted
from lmms_eval_tasks.sample.world.scene import HEIGHT, Rect, draw_look, draw_skins, require, until_accepted

BALL, ONE, OTHER = "ball", "one", "other"


def _ask_possible(
    rng: random.Random, real: World, unreal: World, duration: float, screens: tuple[Rect, ...] = ()
) -> PairDraft:
    mirror, look, skins = rng.random() < 0.5, draw_look(rng), draw_skins(rng, (BALL,))
    scenes = scene_pair((real, unreal), look, skins, duration, mirror, screens)
    question = f"Could the {scenes[0].called(BALL)} really move as it does in this clip?"
    return PairDraft(question, ("Yes, it could", "No, it could not"), scenes)


def vanishes_or_not(rng: random.Random) -> PairDraft:
    """A ball rolls behind a screen and comes out on the other side, or never."""
    size, speed, start = rng.uniform(5.5, 7.5), rng.uniform(56, 68), rng.uniform(12, 20)
    left, width, top = rng.uniform(72, 88), rng.uniform(30, 38), rng.uniform(92, 108)
    ball = Body(BALL, "ball", size, (start, FLOOR - size), (speed, 0.0))
    hidden = replace(ball, vanishes_at=(left + width / 2 - start) / speed)
    screen = (left, top, left + width, FLOOR)
    return _ask_possible(rng, side_world((ball,), ()), side_world((hidden,), ()), 2.6, (screen,))


def solid_or_not(rng: random.Random) -> PairDraft:
    """A ball rolls against a post and bounces back, or rolls through it."""
    size, speed, start = rng.uniform(5.5, 7.5), rng.uniform(55, 68), rng.uniform(12, 22)
    x = rng.uniform(92, 112)
    post = Wall("post", (x, rng.uniform(88, 104)), (x, FLOOR), 3.5)
    ball = Body(BALL, "ball", size, (start, FLOOR - size), (speed, 0.0))
    ghost = replace(ball, passes_through=frozenset({post.name}))
    return _ask_possible(rng, side_world((ball,), (post,)), side_world((ghost,), (post,)), 2.6)


def falls_or_hovers(rng: random.Random) -> PairDraft:
    """A ball rolls off a ledge and falls, or rolls on through the air."""
    size, speed, height = rng.uniform(5.5, 7.5), rng.uniform(38, 48), rng.uniform(56, 84)
    start, edge = rng.uniform(10, 18), rng.uniform(58, 76)
    ledge = Wall("ledge", (-4.0, height + 2.5), (edge, height + 2.5), 2.5)
    ball = Body(BALL, "ball", size, (start, height - size), (speed, 0.0))
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
    one, other = Body(ONE, "ball", size, places[0]), Body(OTHER, "ball", size, places[1])
    hits = World(TOP_VIEW, (replace(one, velocity=velocity), other), rims())
    is_hit = World(TOP_VIEW, (one, replace(other, velocity=(-velocity[0], -velocity[1]))), rims())
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

    def drop(times: tuple[float, float]) -> World:
        bodies = tuple(
            Body(name, "ball", size, (x, top + size), path=((0.0, x, top + size), (t, x, top + size)))
            for name, size, x, t in zip((ONE, OTHER), sizes, places, times, strict=True)
        )
        return side_world(bodies, hooks)

    worlds = drop((early, late)), drop((late, early))
    scenes = scene_pair(worlds, draw_look(rng), draw_skins(rng, (ONE, OTHER)), 3.2)
    answers = f"The {scenes[0].called(ONE)}", f"The {scenes[0].called(OTHER)}"
    return PairDraft("Which ball falls first?", answers, scenes)


@until_accepted
def which_is_pushed_first(rng: random.Random) -> PairDraft:
    """An arm pushes two objects one after the other."""
    hand, base = 5.0, HEIGHT - 10.0
    bodies = tuple(
        Body(name, rng.choice(SHAPES), rng.uniform(6.5, 8), (x, rng.uniform(82, 96)))
        for name, x in ((ONE, rng.uniform(46, 70)), (OTHER, rng.uniform(122, 146)))
    )

    def push(order: tuple[int, int]) -> World:
        stops, time = [(0.0, bodies[order[0]].position[0], base)], 0.3
        for number in order:
            x, y = bodies[number].position
            touch = y + bodies[number].size + hand
            stops += [(time, x, base), (time + 0.8, x, touch - 6), (time + 1.2, x, base)]
            time += 1.75
        return World(TOP_VIEW, (*bodies, scripted(HAND, "ball", hand, stops, (0.0, 1.0))), rims())

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
