"""What a minimal pair is made of: one question, two answers, and for each answer a scene in which it is true."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from lmms_eval_tasks.sample.world.bodies import SIDE_VIEW, SIDE_VIEW_ROUGH, Body, Laws, Wall, Waypoint, World
from lmms_eval_tasks.sample.world.physics import Trajectory
from lmms_eval_tasks.sample.world.scene import COLOURS, WIDTH, Look, Scene, Skin, bar, draw_skin, mirrored

FLOOR = 135.0


@dataclass(frozen=True)
class PairDraft:
    """Two scenes that differ in one thing; `answers[i]` is true in `scenes[i]` and false in the other."""

    question: str
    answers: tuple[str, str]
    scenes: tuple[Scene, Scene]


PairFamily = Callable[[random.Random], PairDraft]


def floor() -> Wall:
    """The ground of a side view."""
    return bar("floor", (-4.0, FLOOR + 3), (WIDTH + 4.0, FLOOR + 3), 3.0)


def side_world(bodies: tuple[Body, ...], walls: tuple[Wall, ...], *, rough: bool = False) -> World:
    """A side view with a floor, rough or smooth."""
    laws: Laws = SIDE_VIEW_ROUGH if rough else SIDE_VIEW
    return World(laws, bodies, (*walls, floor()))


def draw_colours(rng: random.Random, names: tuple[str, ...]) -> dict[str, Skin]:
    """A skin of another colour for each name."""
    return {name: draw_skin(rng, colour) for name, colour in zip(names, rng.sample(COLOURS, len(names)), strict=True)}


def mirror_pair(rng: random.Random, worlds: tuple[World, World]) -> tuple[World, World]:
    """Both worlds mirrored, or neither, with even odds."""
    return (mirrored(worlds[0]), mirrored(worlds[1])) if rng.random() < 0.5 else worlds


def same_look(worlds: tuple[World, World], look: Look, skins: dict[str, Skin], duration: float) -> tuple[Scene, Scene]:
    """Two scenes that share everything but their worlds."""
    return Scene(worlds[0], look, skins, duration), Scene(worlds[1], look, skins, duration)


def route(*stops: tuple[float, float, float]) -> tuple[Waypoint, ...]:
    """Waypoints from (time, x, y)."""
    return tuple(Waypoint(*stop) for stop in stops)


def displacement(trajectory: Trajectory, name: str) -> tuple[float, float]:
    """How far a body is at the end from where it was at the start, in px."""
    (x1, y1), (x2, y2) = trajectory.place(name, 0), trajectory.place(name)
    return x2 - x1, y2 - y1


def first_move(trajectory: Trajectory, name: str) -> int:
    """The first frame in which a body is more than 1 px from where it was; the number of frames when it never is."""
    path = trajectory.path(name)
    for frame, (x, y) in enumerate(path):
        if abs(x - path[0][0]) + abs(y - path[0][1]) > 1.0:
            return frame
    return len(path)
