"""What a minimal pair is made of: one question, two answers, and for each answer a scene in which it is true."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from lmms_eval_tasks.sample.world.bodies import SIDE_VIEW, Body, Laws, Wall, World
from lmms_eval_tasks.sample.world.scene import WIDTH, Look, Rect, Scene, Skin, mirrored

FLOOR = 135.0


@dataclass(frozen=True)
class PairDraft:
    """Two scenes that differ in one thing; `answers[i]` is true in `scenes[i]` and false in the other."""

    question: str
    answers: tuple[str, str]
    scenes: tuple[Scene, Scene]


PairFamily = Callable[[random.Random], PairDraft]


def side_world(bodies: tuple[Body, ...], walls: tuple[Wall, ...], laws: Laws = SIDE_VIEW) -> World:
    """A side view with a floor."""
    return World(laws, bodies, (*walls, Wall("floor", (-4.0, FLOOR + 3), (WIDTH + 4.0, FLOOR + 3), 3.0)))


def scene_pair(
    worlds: tuple[World, World],
    look: Look,
    skins: dict[str, Skin],
    duration: float,
    mirror: bool = False,
    screens: tuple[Rect, ...] = (),
) -> tuple[Scene, Scene]:
    """Two scenes that share everything but their worlds; both are mirrored, or neither."""
    one, other = (Scene(world, look, skins, duration, screens) for world in worlds)
    return (mirrored(one), mirrored(other)) if mirror else (one, other)
