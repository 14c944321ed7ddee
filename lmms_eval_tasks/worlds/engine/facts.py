"""What is known of a scene: what happens in it, what would happen otherwise, and what is seen of it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_tasks.worlds.engine.scene import Scene

EventKind = Literal["hits", "starts", "stops", "falls", "enters", "leaves view", "comes into view"]


class EventKey(NamedTuple):
    """Event without its time."""

    kind: EventKind
    body: str
    other: str = ""


class Event(RowForm):
    """Something that happens."""

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
    """Events of a scene under an intervention."""

    intervention: Intervention
    events: list[Event]
    unsure: list[list[str]] = Field(default_factory=list)

    def says(self, key: EventKey) -> bool | None:
        """Whether something happens there; None where that is unsure."""
        if list(key) in self.unsure:
            return None
        return any(event.key == key for event in self.events)


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
