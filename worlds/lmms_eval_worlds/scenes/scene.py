"""A scene as data, bodies with places and velocities in metres and seconds, a camera and a light, and all known facts
about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

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
        for body in self.bodies:
            if body.name == name:
                return body
        raise KeyError(name)

    @property
    def actors(self) -> tuple[str, ...]:
        """The names of the bodies that questions may be about."""
        return tuple(body.name for body in self.bodies if not body.scenery)


EventKind = Literal["hits", "starts", "stops", "falls", "enters", "leaves view", "comes into view"]


class EventKey(NamedTuple):
    """Event without its time."""

    kind: EventKind
    body: str
    other: str = ""


class Event(RowForm):
    kind: EventKind
    time: float
    body: str
    other: str = ""

    @property
    def key(self) -> EventKey:
        """Key of the event; two bodies that hit each other are in the order of their names."""
        body, other = sorted((self.body, self.other)) if self.kind == "hits" else (self.body, self.other)
        return EventKey(self.kind, body, other)


class Intervention(RowForm):
    """Change made to a scene in another world."""

    kind: Literal["remove", "freeze", "delay"]
    bodies: list[str]


class World(RowForm):
    """A scene under an intervention; a draft has it without its events."""

    intervention: Intervention
    events: list[Event] = Field(default=[])
    unsure: list[list[str]] = Field(default_factory=list)

    def says(self, key: EventKey) -> bool | None:
        """Whether something happens there; None where that is unsure."""
        if list(key) in self.unsure:
            return None
        return any(event.key == key for event in self.events)


class ChangedBody(RowForm):
    """A body as it is in a scene's twin, and what happens there; a draft has it without the events."""

    body: Body
    events: list[Event] = Field(default=[])
    unsure: list[list[str]] = Field(default_factory=list)


class Twin(RowForm):
    """The other scene of a minimal pair."""

    scene: Scene
    body: str
    parameter: str
    events: list[Event]
    differs: list[list[str]]
    same_start: bool


class Sight(RowForm):
    """View of a body at a time: its box in pixels and the share of it that nothing hides."""

    body: str
    time: float
    box: list[float]
    visible: float


class Violation(RowForm):
    """A principle of physics that a clip breaks."""

    principle: Literal["permanence", "continuity", "solidity", "gravity", "inertia"]
    body: str
    other: str = ""
    time: float


class Facts(RowForm):
    """All that is known of a scene."""

    scene: Scene
    events: list[Event]
    unsure: list[list[str]] = Field(default_factory=list)
    worlds: list[World]
    again: list[list[str]] = Field(default_factory=list)
    twin: Twin | None = None
    sights: list[Sight] = Field(default_factory=list)
    violations: list[Violation] = Field(default_factory=list)
    lost_energy: float

    def says(self, key: EventKey) -> bool | None:
        """Whether something happens in the scene; None where that is unsure."""
        if list(key) in self.unsure:
            return None
        return any(event.key == key for event in self.events)


def last_to_hit(events: Sequence[Event], key: EventKey) -> str | None:
    """The body that is the last to touch an event's body before it happens; None where none does."""
    moved_at = {event.body: event.time for event in reversed(events) if event.kind in ("starts", "falls")}
    found = None
    for event in events:
        if event.key == key:
            return found
        if event.kind == "hits" and key.body in (event.body, event.other):
            sets_off = event.body == key.body and moved_at.get(event.other, -1.0) >= event.time
            if not sets_off:
                found = event.other if event.body == key.body else event.body
    return None
