"""Top view: balls and blocks on a table with a rim; what touches what, and what would have."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lmms_eval_tasks.sample.world.bodies import TOP_VIEW, FlatBody, FlatWorld, Shape, Vec, Wall, gap_between, scripted
from lmms_eval_tasks.sample.world.physics import Trajectory, simulate
from lmms_eval_tasks.sample.world.scene import (
    COLOURS,
    HEIGHT,
    WIDTH,
    DrawnScene,
    Rejected,
    Skin,
    draw_look,
    draw_skin,
    require,
)

RIM = 4.0
INNER = RIM + 2.0
DURATION = 3.5
REACH = 5.0
_TURN = math.sin(math.radians(2.0))
_NUDGES = ((1.0, 0.0), (0.96, _TURN), (1.04, -_TURN), (1.04, _TURN), (0.96, -_TURN))
HAND = "hand"
PUSHED = 110.0


def rims(
    left: float = RIM, top: float = RIM, right: float = WIDTH - RIM, bottom: float = HEIGHT - RIM
) -> tuple[Wall, ...]:
    """The four sides of the table, along the given lines (px)."""
    return (
        Wall("top rim", (left, top), (right, top)),
        Wall("bottom rim", (left, bottom), (right, bottom)),
        Wall("left rim", (left, top), (left, bottom)),
        Wall("right rim", (right, top), (right, bottom)),
    )


@dataclass(frozen=True)
class Piece:
    """An object to be placed: its shape, and where when that is already decided."""

    name: str
    shape: Shape
    at: Vec | None = None
    velocity: Vec = (0.0, 0.0)


def draw_place(rng: random.Random, margin: float = 14.0) -> Vec:
    """A random place on the table, `margin` px from its rim or more."""
    low = INNER + margin
    return rng.uniform(low, WIDTH - low), rng.uniform(low, HEIGHT - low)


def lay_out(rng: random.Random, pieces: Sequence[Piece], apart: float = 9.0) -> FlatWorld:
    """A table with the pieces on it, `apart` px between them or more; Rejected when they do not fit."""
    bodies: list[FlatBody] = []
    for piece in pieces:
        size = rng.uniform(6.2, 8.0) if piece.shape == "ball" else rng.uniform(6.0, 7.5)
        for _ in range(30):
            body = FlatBody(piece.name, piece.shape, size, piece.at or draw_place(rng), piece.velocity)
            if all(gap_between(body, body.position, other, other.position)[0] >= apart for other in bodies):
                bodies.append(body)
                break
            require(piece.at is None)
        else:
            raise Rejected
    return FlatWorld(TOP_VIEW, tuple(bodies), rims())


def paint(rng: random.Random, world: FlatWorld, duration: float = DURATION) -> DrawnScene:
    """The world with looks: only bodies called `object …` share a colour, two at most, a ball and a block."""
    skins: dict[str, Skin] = {}
    free = list(COLOURS)
    rng.shuffle(free)
    for body in world.bodies:
        if body.kinematic:
            continue
        if free:
            skins[body.name] = draw_skin(rng, free.pop())
            continue
        partners = [
            name
            for name, skin in skins.items()
            if world.body(name).shape != body.shape
            and name.startswith("object")
            and sum(s.colour == skin.colour for s in skins.values()) == 1
        ]
        require(bool(partners))
        skins[body.name] = draw_skin(rng, skins[rng.choice(partners)].colour)
    return DrawnScene(world, draw_look(rng), skins, duration)


def first_touch(
    world: FlatWorld, mover: str, velocity: Vec, at: Vec | None = None, duration: float = 4.0
) -> str | None:
    """The body that `mover`, set off with `velocity` (from `at`), touches first; None when it reaches none."""
    moved = world.changing(mover, velocity=velocity, position=at or world.body(mover).position)
    names = {body.name for body in world.bodies}
    contact = simulate(moved, duration, stop_at_contact_of=mover).first_contact(mover, names)
    return contact.partner(mover) if contact else None


def nudged(velocity: Vec) -> list[Vec]:
    """A velocity, then the same with a little more or less speed and turned a little to either side."""
    vx, vy = velocity
    return [(scale * (vx - turn * vy), scale * (vy + turn * vx)) for scale, turn in _NUDGES]


def sure_touch(world: FlatWorld, mover: str, velocity: Vec, at: Vec | None = None, duration: float = 4.0) -> str | None:
    """`first_touch`, or None when a little more or less speed or direction would change it."""
    outcome = first_touch(world, mover, velocity, at, duration)
    others = nudged(velocity)[1:] if outcome is not None else []
    return outcome if all(first_touch(world, mover, other, at, duration) == outcome for other in others) else None


def gaps_to(world: FlatWorld, trajectory: Trajectory, name: str, frame: int) -> dict[str, float]:
    """Free distance in px from one body to each other at a frame."""
    body, at = world.body(name), trajectory.place(name, frame)
    return {
        other.name: gap_between(body, at, other, trajectory.place(other.name, frame))[0]
        for other in world.bodies
        if other is not body
    }


def comes_to_rest(trajectory: Trajectory, name: str) -> bool:
    """Whether a body lies still in the last three frames."""
    return bool((trajectory.speed(name)[-3:] < REACH).all())


def turned(velocity: Vec, quarter_turns: int) -> Vec:
    """A velocity after clockwise quarter turns as seen in the picture."""
    x, y = velocity
    for _ in range(quarter_turns % 4):
        x, y = -y, x
    return x, y


def pushed_by_hand(world: FlatWorld, mover: str, direction: Vec, speed: float, arm: Vec | None = None) -> FlatWorld:
    """The world with a hand that comes from outside, pushes `mover` along `direction` and goes back."""
    body = world.body(mover)
    size, start = 5.0, 0.4
    touch = body.size + size

    def place(back: float) -> Vec:
        return body.position[0] - back * direction[0], body.position[1] - back * direction[1]

    run_up, follow = 26.0, 4.0
    far, end = place(touch + run_up), place(touch - follow)
    stroke = (run_up + follow) / speed
    path = ((0.0, *far), (start, *far), (start + stroke, *end), (start + stroke + 0.4, *far))
    hand = scripted(HAND, "ball", size, path, arm or (-direction[0], -direction[1]))
    return replace(world, bodies=(*world.bodies, hand))
