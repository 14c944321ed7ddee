"""Minimal pairs about the laws of motion and about the order of events."""

import random
from dataclasses import replace

from lmms_eval_tasks.sample.scenes.pairs import (
    FLOOR,
    PairDraft,
    displacement,
    draw_colours,
    first_move,
    mirror_pair,
    route,
    same_look,
    side_world,
)
from lmms_eval_tasks.sample.scenes.table import HAND, comes_to_rest, rims
from lmms_eval_tasks.sample.world.bodies import TOP_VIEW, Body, Waypoint, World
from lmms_eval_tasks.sample.world.scene import HEIGHT, WIDTH, Scene, bar, draw_look, require, until_accepted

BALL, ONE, OTHER = "ball", "one", "other"
POSSIBLE = ("Yes, it could", "No, it could not")


def _ask_possible(scenes: tuple[Scene, Scene]) -> PairDraft:
    return PairDraft(f"Could the {scenes[0].called(BALL)} really move as it does in this clip?", POSSIBLE, scenes)


def vanishes_or_not(rng: random.Random) -> PairDraft:
    """A ball rolls behind a screen and comes out on the other side, or never."""
    size, speed, start = rng.uniform(5.5, 7.5), rng.uniform(56, 68), rng.uniform(12, 20)
    left, width, top = rng.uniform(72, 88), rng.uniform(30, 38), rng.uniform(92, 108)
    ball = Body(BALL, "ball", size, (start, FLOOR - size), (speed, 0.0))
    hidden = replace(ball, vanishes_at=(left + width / 2 - start) / speed)
    worlds = mirror_pair(rng, (side_world((ball,), ()), side_world((hidden,), ())))
    mirrored = worlds[0].body(BALL).velocity[0] < 0
    screen = (WIDTH - left - width if mirrored else left, top, WIDTH - left if mirrored else left + width, FLOOR)
    scenes = same_look(worlds, draw_look(rng), draw_colours(rng, (BALL,)), 2.6)
    return _ask_possible((replace(scenes[0], screens=(screen,)), replace(scenes[1], screens=(screen,))))


def solid_or_not(rng: random.Random) -> PairDraft:
    """A ball rolls against a post and bounces back, or rolls through it."""
    size, speed, start = rng.uniform(5.5, 7.5), rng.uniform(55, 68), rng.uniform(12, 22)
    x = rng.uniform(92, 112)
    post = bar("post", (x, rng.uniform(88, 104)), (x, FLOOR), 3.5)
    ball = Body(BALL, "ball", size, (start, FLOOR - size), (speed, 0.0))
    ghost = replace(ball, passes_through=frozenset({post.name}))
    worlds = mirror_pair(rng, (side_world((ball,), (post,)), side_world((ghost,), (post,))))
    return _ask_possible(same_look(worlds, draw_look(rng), draw_colours(rng, (BALL,)), 2.6))


def falls_or_hovers(rng: random.Random) -> PairDraft:
    """A ball rolls off a ledge and falls, or rolls on through the air."""
    size, speed, height = rng.uniform(5.5, 7.5), rng.uniform(38, 48), rng.uniform(56, 84)
    start, edge = rng.uniform(10, 18), rng.uniform(58, 76)
    ledge = bar("ledge", (-4.0, height + 2.5), (edge, height + 2.5), 2.5)
    ball = Body(BALL, "ball", size, (start, height - size), (speed, 0.0))
    floating = replace(ball, weightless_from=(edge - start) / speed - 0.05)
    worlds = mirror_pair(rng, (side_world((ball,), (ledge,)), side_world((floating,), (ledge,))))
    return _ask_possible(same_look(worlds, draw_look(rng), draw_colours(rng, (BALL,)), 2.8))


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
    scenes = same_look((hits, is_hit), draw_look(rng), draw_colours(rng, (ONE, OTHER)), 3.0)
    for scene, struck in zip(scenes, (OTHER, ONE), strict=True):
        trajectory = scene.simulate()
        require(sum(map(abs, displacement(trajectory, struck))) >= 12 and comes_to_rest(trajectory, struck))
    answers = f"The {scenes[0].called(ONE)}", f"The {scenes[0].called(OTHER)}"
    return PairDraft("Which ball sets the other one in motion?", answers, scenes)


def which_falls_first(rng: random.Random) -> PairDraft:
    """Two balls hang from the ceiling and fall one after the other."""
    sizes, top = (rng.uniform(6, 7.5), rng.uniform(6, 7.5)), rng.uniform(16, 34)
    places = rng.uniform(40, 70), rng.uniform(122, 152)
    early, late = rng.uniform(0.4, 0.7), rng.uniform(1.2, 1.6)
    hooks = tuple(bar(f"hook {x:.0f}", (x, -4.0), (x, top - 3), 2.0) for x in places)

    def drop(times: tuple[float, float]) -> World:
        bodies = tuple(
            Body(name, "ball", size, (x, top + size), path=(Waypoint(0.0, x, top + size), Waypoint(t, x, top + size)))
            for name, size, x, t in zip((ONE, OTHER), sizes, places, times, strict=True)
        )
        return side_world(bodies, hooks)

    scenes = same_look((drop((early, late)), drop((late, early))), draw_look(rng), draw_colours(rng, (ONE, OTHER)), 3.2)
    answers = f"The {scenes[0].called(ONE)}", f"The {scenes[0].called(OTHER)}"
    return PairDraft("Which ball falls first?", answers, scenes)


@until_accepted
def which_is_pushed_first(rng: random.Random) -> PairDraft:
    """An arm pushes two objects one after the other."""
    hand, base = 5.0, HEIGHT - 10.0
    bodies = tuple(
        Body(name, rng.choice(["ball", "block"]), rng.uniform(6.5, 8), (x, rng.uniform(82, 96)))
        for name, x in ((ONE, rng.uniform(46, 70)), (OTHER, rng.uniform(122, 146)))
    )

    def push(order: tuple[int, int]) -> World:
        stops, time = [(0.0, bodies[order[0]].position[0], base)], 0.3
        for number in order:
            x, y = bodies[number].position
            touch = y + bodies[number].size + hand
            stops += [(time, x, base), (time + 0.8, x, touch - 6), (time + 1.2, x, base)]
            time += 1.75
        path = route(*stops)
        arm = Body(HAND, "ball", hand, (path[0].x, path[0].y), path=path, kinematic=True)
        return World(TOP_VIEW, (*bodies, arm), rims())

    skins, look = draw_colours(rng, (ONE, OTHER)), draw_look(rng)
    arms = {HAND: (0.0, 1.0)}
    scenes = (
        Scene(push((0, 1)), look, skins, 4.0, arms=arms),
        Scene(push((1, 0)), look, skins, 4.0, arms=arms),
    )
    for scene, first, second in zip(scenes, (ONE, OTHER), (OTHER, ONE), strict=True):
        trajectory = scene.simulate()
        require(first_move(trajectory, second) - first_move(trajectory, first) >= 8)
        require(all(displacement(trajectory, name)[1] < -6 for name in (ONE, OTHER)))
    one, other = scenes[0].called(ONE), scenes[0].called(OTHER)
    answers = f"First the {one}, then the {other}", f"First the {other}, then the {one}"
    return PairDraft("In which order does the arm push the two objects?", answers, scenes)
