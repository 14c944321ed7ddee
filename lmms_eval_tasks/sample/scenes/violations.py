"""Scenes of four clips: two that can happen, and two that cannot, joined from them where nothing tells them apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.scenes.minimal_pairs import FLOOR, side_world
from lmms_eval_tasks.sample.world.bodies import FlatBody, FlatWorld, Wall
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.render import render
from lmms_eval_tasks.sample.world.scene import (
    WIDTH,
    DrawnScene,
    Rect,
    draw_look,
    draw_skins,
    mirrored,
)

BALL, OTHER = "ball", "other"
BYSTANDERS = ("bystander", "second bystander")
CLIPS = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
_GAP = 34.0
_BOARD = 28.0


@dataclass(frozen=True)
class StagedViolation:
    """Two possible scenes, and the moments in seconds, in their order, at which they look the same."""

    scenes: tuple[DrawnScene, DrawnScene]
    moments: tuple[float, ...]

    def film(self) -> dict[str, NDArray[np.uint8]]:
        """The four clips by their names in `CLIPS`, each (T, H, W, 3) uint8 RGB."""
        one, other = (render(scene)[0] for scene in self.scenes)
        cuts = [round(moment * FPS) for moment in self.moments]
        films = one, _joined(one, other, cuts), other, _joined(other, one, cuts)
        return dict(zip(CLIPS, films, strict=True))


ViolationFamily = Callable[[random.Random, int], StagedViolation]


def vanishing(rng: random.Random, bystanders: int) -> StagedViolation:
    """A ball rolls past two boards, or there is none; it is gone between the boards, or only there."""
    ball = _draw_ball(rng)
    return _past_two_boards(rng, bystanders, (ball,), ())


def change_of_shape(rng: random.Random, bystanders: int) -> StagedViolation:
    """A ball or a block of one colour passes two boards; between them it is the other."""
    ball = _draw_ball(rng)
    return _past_two_boards(rng, bystanders, (ball,), (replace(ball, shape="block"),))


def change_of_colour(rng: random.Random, bystanders: int) -> StagedViolation:
    """One of two balls of different colours passes two boards; between them it is the other."""
    ball = _draw_ball(rng)
    return _past_two_boards(rng, bystanders, (ball,), (replace(ball, name=OTHER),))


def jump(rng: random.Random, bystanders: int) -> StagedViolation:
    """A ball rolls behind a board and comes out, or comes out of another without crossing the gap between."""
    ball = _draw_ball(rng)
    return _from_board_to_board(rng, bystanders, (ball,), (_farther(ball),))


def swap(rng: random.Random, bystanders: int) -> StagedViolation:
    """Two balls roll behind a board each and come out, or come out in each other's place."""
    ball = _draw_ball(rng)
    other = replace(ball, name=OTHER)
    return _from_board_to_board(rng, bystanders, (ball, _farther(other)), (_farther(ball), other))


def passing_through(rng: random.Random, bystanders: int) -> StagedViolation:
    """A ball rolls against a post from the left or the right and bounces back, or is on the post's other side."""
    size, middle, start, speed = rng.uniform(7, 8), rng.uniform(93, 99), rng.uniform(78, 82), rng.uniform(60, 64)
    post = Wall("post", (middle, rng.uniform(74, 82)), (middle, FLOOR), 3.0)
    left = FlatBody(BALL, "ball", size, (middle - start, FLOOR - size), (speed, 0.0))
    right = replace(left, position=(middle + start, FLOOR - size), velocity=(-speed, 0.0))
    board = (round(middle) - 26.0, rng.uniform(100, 108), round(middle) + 26.0, FLOOR)
    contact = (start - size - post.half_width) / speed
    return _draw(rng, bystanders, ((left,), (right,)), (post,), (board,), 3.3, (contact + 0.13,))


FAMILIES: Mapping[str, ViolationFamily] = {
    "permanence": vanishing,
    "immutability": change_of_shape,
    "immutability_texture": change_of_colour,
    "continuity": jump,
    "continuity_swap": swap,
    "solidity": passing_through,
}
"""What is violated to the family that violates it; a family is called with how many balls roll by at the back."""


def _joined(start: NDArray[np.uint8], other: NDArray[np.uint8], cuts: Sequence[int]) -> NDArray[np.uint8]:
    """The first film up to the first cut, the other up to the next, and so on in turn."""
    ends = [0, *cuts, len(start)]
    parts = [(start, other)[k % 2][ends[k] : ends[k + 1]] for k in range(len(ends) - 1)]
    return np.concatenate(parts)


def _draw_ball(rng: random.Random) -> FlatBody:
    size = rng.uniform(7, 8)
    return FlatBody(BALL, "ball", size, (0.0, FLOOR - size))


def _farther(body: FlatBody) -> FlatBody:
    """The body as far ahead as the second board is from the first."""
    return replace(body, position=(body.position[0] + _BOARD + _GAP, body.position[1]))


def _rolling(bodies: Sequence[FlatBody], start: float, speed: float) -> tuple[FlatBody, ...]:
    return tuple(
        replace(body, position=(body.position[0] + start, body.position[1]), velocity=(speed, 0.0)) for body in bodies
    )


def _draw_boards(rng: random.Random) -> tuple[Rect, Rect]:
    left, top = float(rng.randint(55, 57)), rng.uniform(92, 106)
    second = left + _BOARD + _GAP
    return (left, top, left + _BOARD, FLOOR), (second, top, second + _BOARD, FLOOR)


def _past_two_boards(
    rng: random.Random, bystanders: int, one: Sequence[FlatBody], other: Sequence[FlatBody]
) -> StagedViolation:
    """Bodies pass both boards; the scenes look the same behind each."""
    boards, start, speed = _draw_boards(rng), rng.uniform(12, 14), rng.uniform(41, 42)
    moments = tuple((left + _BOARD / 2 - start) / speed for left, *_ in boards)
    bodies = _rolling(one, start, speed), _rolling(other, start, speed)
    return _draw(rng, bystanders, bodies, (), boards, 4.0, moments)


def _from_board_to_board(
    rng: random.Random, bystanders: int, one: Sequence[FlatBody], other: Sequence[FlatBody]
) -> StagedViolation:
    """Bodies start before one board or both and end behind it; the scenes look the same in between."""
    boards, before, speed = _draw_boards(rng), rng.uniform(20, 22), rng.uniform(24, 26)
    start = boards[0][0] - before
    bodies = _rolling(one, start, speed), _rolling(other, start, speed)
    return _draw(rng, bystanders, bodies, (), boards, 2.8, ((before + _BOARD / 2) / speed,))


def _draw(
    rng: random.Random,
    bystanders: int,
    bodies: tuple[tuple[FlatBody, ...], tuple[FlatBody, ...]],
    walls: tuple[Wall, ...],
    screens: tuple[Rect, ...],
    duration: float,
    moments: tuple[float, ...],
) -> StagedViolation:
    """Two scenes that differ in their bodies alone, with balls that roll along a shelf at the back."""
    height, size, speed = rng.uniform(34, 46), rng.uniform(4.5, 5.5), rng.uniform(10, 18)
    passing = tuple(
        FlatBody(name, "ball", size, (24.0 + 48 * number, height - size), (speed, 0.0))
        for number, name in enumerate(BYSTANDERS[:bystanders])
    )
    shelf = (Wall("shelf", (-4.0, height + 2), (WIDTH + 4.0, height + 2)),) if passing else ()
    look, skins, mirror = draw_look(rng), draw_skins(rng, (BALL, OTHER, *BYSTANDERS)), rng.random() < 0.5

    def scene_of(own: tuple[FlatBody, ...]) -> DrawnScene:
        world: FlatWorld = side_world((*own, *passing), (*walls, *shelf))
        scene = DrawnScene(world, look, skins, duration, screens)
        return mirrored(scene) if mirror else scene

    return StagedViolation((scene_of(bodies[0]), scene_of(bodies[1])), moments)
