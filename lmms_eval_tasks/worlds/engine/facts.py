"""What is known of a scene: what happens in it, what would happen otherwise, and what is seen of it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_tasks.worlds.engine.scene import Scene

EventKind = Literal["hits", "starts", "stops", "falls", "enters", "leaves view", "comes into view"]


class EventKey(NamedTuple):
    """What happens, without when."""

    kind: EventKind
    body: str
    other: str = ""


class Event(RowForm):
    """Something that happens.

    Attributes:
        kind: ``hits``: two bodies touch for the first time, neither of which is the floor; ``body`` is the one that
            moved faster. ``starts``: a body at rest begins to move. ``stops``: a body that moved rests, until the end.
            ``falls``: it tips over, or drops from what it lay on. ``enters``: it comes to lie in a tray.
            ``leaves view`` and ``comes into view``: it is wholly hidden, or seen again.
        time: Seconds from the start.
        body: Its name.
        other: The other body's name, where there is one.
    """

    kind: EventKind
    time: float
    body: str
    other: str = ""

    @property
    def key(self) -> EventKey:
        """What happens; two bodies that hit each other are in the order of their names."""
        body, other = sorted((self.body, self.other)) if self.kind == "hits" else (self.body, self.other)
        return EventKey(self.kind, body, other)


class Intervention(RowForm):
    """What is otherwise.

    Attributes:
        kind: ``remove``: the bodies are not there. ``freeze``: they are held where they are from the start.
            ``delay``: they are held for a time, then move as they would have.
        bodies: Their names, sorted.
    """

    kind: Literal["remove", "freeze", "delay"]
    bodies: list[str]


class World(RowForm):
    """What happens in a scene with an intervention.

    Attributes:
        events: In order of time.
        unsure: What happens in some draws of nearly the same scene and not in others, or what one may say happens or
            does not, as kind, body and other body: nothing is asked about it.
    """

    intervention: Intervention
    events: list[Event]
    unsure: list[list[str]] = Field(default_factory=list)

    def says(self, key: EventKey) -> bool | None:
        """Whether something happens there; None where that is unsure."""
        if list(key) in self.unsure:
            return None
        return any(event.key == key for event in self.events)


class Twin(RowForm):
    """The other scene of a minimal pair.

    Attributes:
        scene: The same scene but for one parameter of one body.
        body: The body.
        parameter: The field of `Body` that differs.
        events: What happens in it.
        differs: What happens in just one of both, as kind, body and other body.
        same_start: Whether both look alike at the start.
    """

    scene: Scene
    body: str
    parameter: str
    events: list[Event]
    differs: list[list[str]]
    same_start: bool


class Sight(RowForm):
    """Where a body is seen: a box in pixels and the share of it that nothing hides, at a time."""

    body: str
    time: float
    box: list[float]
    visible: float


class Violation(RowForm):
    """A principle of physics that a clip breaks.

    Attributes:
        principle: ``permanence``: the body vanishes. ``continuity``: it jumps to another place. ``solidity``: it goes
            through another. ``gravity``: it does not fall though nothing holds it. ``inertia``: it stops, or starts,
            though nothing touches it.
        body: Which body breaks it.
        other: What it goes through.
        time: When.
    """

    principle: Literal["permanence", "continuity", "solidity", "gravity", "inertia"]
    body: str
    other: str = ""
    time: float


class Facts(RowForm):
    """All that is known of a scene.

    Attributes:
        events: What happens, in order of time.
        unsure: As in `World`.
        worlds: What would happen otherwise, each intervention once.
        again: Which bodies hit each other, part and do so again, as kind, body and other body.
        twin: The other scene of a minimal pair; None where none was found.
        sights: Where bodies are seen in the clip, four times a second, by time and body.
        violations: What a clip of the scene may break.
        lost_energy: The share of its mechanical energy that the scene has lost at its end, from 0 to 1.
    """

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
