"""A scene: a world, how it looks and how long it is watched; and the tools with which the families draw scenes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

from tenacity import RetryCallState, retry, retry_if_exception_type, stop_after_attempt

from lmms_eval_tasks.sample.world.bodies import FlatWorld, Vec
from lmms_eval_tasks.sample.world.physics import Trajectory, simulate

WIDTH, HEIGHT = 192, 144

HUES: Mapping[str, float] = {"red": 0.0, "yellow": 52.0, "green": 120.0, "cyan": 182.0, "blue": 228.0, "pink": 312.0}
COLOURS = tuple(HUES)

TEXTURES = ("plain", "stripes", "dots", "ring")
Rgb = tuple[float, float, float]
Rect = tuple[float, float, float, float]


@dataclass(frozen=True)
class Skin:
    """Paint of one object: `colour` names it, `hue` (degrees), `saturation` and `value` (0..1) are its shade."""

    colour: str
    hue: float
    saturation: float
    value: float
    texture: str


@dataclass(frozen=True)
class Look:
    """Look of a scene besides its objects: background, light gradient per picture, weave, structures."""

    background: Rgb
    gradient: Vec
    weave: float
    structure: Rgb
    arm: Rgb


@dataclass(frozen=True)
class DrawnScene:
    """A world with its looks, watched for `duration` seconds."""

    world: FlatWorld
    look: Look
    skins: Mapping[str, Skin]
    duration: float
    screens: tuple[Rect, ...] = ()

    def simulate(self) -> Trajectory:
        """The trajectory of this scene over its whole duration."""
        return simulate(self.world, self.duration)

    def called(self, name: str) -> str:
        """Return the name of a body in the questions: its colour and shape, as in `red ball`."""
        return f"{self.skins[name].colour} {self.world.body(name).shape}"


def draw_look(rng: random.Random) -> Look:
    """A random look: bright or dark background, tinted a little, with structures of the opposite tone."""
    bright = rng.random() < 0.55
    tone = rng.uniform(168, 215) if bright else rng.uniform(38, 70)
    tint = [rng.uniform(-7, 7) for _ in range(3)]
    structure = rng.uniform(30, 62) if bright else rng.uniform(185, 225)
    arm = structure + (18 if bright else -18)
    slope = 14.0
    return Look(
        background=(tone + tint[0], tone + tint[1], tone + tint[2]),
        gradient=(rng.uniform(-slope, slope), rng.uniform(-slope, slope)),
        weave=rng.choice([0.0, 0.0, 3.0, 5.0]),
        structure=(structure, structure, structure + 3),
        arm=(arm, arm - 2, arm - 5),
    )


def draw_skin(rng: random.Random, colour: str) -> Skin:
    """A random shade and texture of a named colour."""
    return Skin(
        colour=colour,
        hue=HUES[colour] + rng.uniform(-6, 6),
        saturation=rng.uniform(0.78, 0.95),
        value=rng.uniform(0.78, 0.97),
        texture=rng.choice(TEXTURES),
    )


def draw_skins(rng: random.Random, names: Sequence[str]) -> dict[str, Skin]:
    """A skin of another colour for each name."""
    return {name: draw_skin(rng, colour) for name, colour in zip(names, rng.sample(COLOURS, len(names)), strict=True)}


def mirrored(scene: DrawnScene) -> DrawnScene:
    """The scene seen in a mirror that stands upright in the middle of the picture."""

    def flip(at: Vec) -> Vec:
        return WIDTH - at[0], at[1]

    bodies = tuple(
        replace(
            body,
            position=flip(body.position),
            velocity=(-body.velocity[0], body.velocity[1]),
            path=tuple((time, WIDTH - x, y) for time, x, y in body.path),
            arm=body.arm and (-body.arm[0], body.arm[1]),
        )
        for body in scene.world.bodies
    )
    walls = tuple(replace(wall, start=flip(wall.start), end=flip(wall.end)) for wall in scene.world.walls)
    screens = tuple((WIDTH - right, top, WIDTH - left, bottom) for left, top, right, bottom in scene.screens)
    return replace(scene, world=FlatWorld(scene.world.laws, bodies, walls), screens=screens)


Value = TypeVar("Value")


class Rejected(Exception):
    """A scene as drawn, or a clip as seen, does not meet a condition."""


def require(condition: bool) -> None:
    """Raise Rejected unless a condition is met."""
    if not condition:
        raise Rejected


def required(value: Value | None) -> Value:
    """The value; raise Rejected when there is none."""
    if value is None:
        raise Rejected
    return value


def _give_up(state: RetryCallState) -> NoReturn:
    drawing = getattr(state.fn, "__name__", "A family")
    raise RuntimeError(f"{drawing} rejected {state.attempt_number} scenes: its conditions are too narrow.")


until_accepted = retry(
    retry=retry_if_exception_type(Rejected), stop=stop_after_attempt(20_000), retry_error_callback=_give_up
)
"""Decorates what draws a scene: it is called until it does not raise Rejected; RuntimeError when it never succeeds."""
