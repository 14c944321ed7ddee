"""A scene is data: bodies with places and velocities, a camera and a light. Lengths in metres, times in seconds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lmms_eval_tasks.api import RowForm

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]

COLOURS = {
    "red": (0.80, 0.10, 0.10),
    "green": (0.10, 0.60, 0.20),
    "blue": (0.10, 0.25, 0.85),
    "yellow": (0.90, 0.80, 0.10),
    "purple": (0.55, 0.15, 0.70),
    "orange": (0.95, 0.50, 0.05),
    "white": (0.92, 0.92, 0.92),
    "black": (0.08, 0.08, 0.08),
    "pink": (0.95, 0.55, 0.70),
    "brown": (0.45, 0.28, 0.12),
    "grey": (0.50, 0.50, 0.50),
}
"""Red, green and blue from 0 to 1. Grey and brown are of scenery alone."""

GRAVITY = 9.81
"""Metres per second squared."""
FLOORS = ("wood", "checker", "sand", "slate")


class Hinge(RowForm):
    """Hinge about which a body turns: a point, and an axis of the world."""

    point: Vector
    axis: Literal["x", "y"]


class Body(RowForm):
    """A body, or a part of the scenery."""

    name: Annotated[str, Field(pattern=r"^\S(.*\S)?$", max_length=64)]
    shape: Literal["ball", "box", "cylinder", "plank", "tray", "wall", "ramp"]
    colour: str
    size: Annotated[list[float], Field(min_length=1, max_length=3)]
    place: Vector
    turn: Vector = Field(default_factory=lambda: [0.0, 0.0, 0.0])
    velocity: Vector = Field(default_factory=lambda: [0.0, 0.0, 0.0])
    mass: Annotated[float, Field(gt=0)] = 0.5
    friction: Annotated[float, Field(ge=0)] = 0.5
    bounce: Annotated[float, Field(ge=0, le=1)] = 0.3
    moves: Literal["freely", "not at all", "about its hinge"] = "freely"
    hinge: Hinge | None = None
    scenery: bool = False


class Camera(RowForm):
    """Camera's position, its target, and how far it moves to the side in the whole clip."""

    place: Vector = Field(default_factory=lambda: [0.0, -2.9, 1.7])
    target: Vector = Field(default_factory=lambda: [0.0, 0.0, 0.2])
    travel: float = 0.0


class Scene(RowForm):
    """A scene."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    family: str
    seed: int
    seconds: Annotated[float, Field(ge=0.25, le=10)] = 4.0
    depth: int
    distractors: int = 0
    bodies: Annotated[list[Body], Field(min_length=1, max_length=16)]
    floor: Literal["wood", "checker", "sand", "slate"] = "wood"
    light: Vector = Field(default_factory=lambda: [1.0, -1.0, 3.0])
    camera: Camera = Field(default_factory=Camera)

    @model_validator(mode="after")
    def _names_differ(self) -> Scene:
        names = [body.name for body in self.bodies]
        if len(set(names)) < len(names):
            raise ValueError("Expected every body to have a name of its own")
        return self

    def body(self, name: str) -> Body:
        """The body of a name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise KeyError(name)

    @property
    def actors(self) -> tuple[str, ...]:
        """The names of the bodies that questions may be about."""
        return tuple(body.name for body in self.bodies if not body.scenery)
