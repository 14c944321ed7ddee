"""What can be read off an option, and must not say whether it is right."""

from __future__ import annotations

from lmms_eval_tasks.worlds.engine.facts import EventKey, Facts


def body_traits(facts: Facts, body: str) -> tuple[str, ...]:
    """Of a body: its shape, its colour, and both together."""
    found = facts.scene.body(body)
    return (f"shape {found.shape}", f"colour {found.colour}", f"body {body}")


def event_traits(facts: Facts, key: EventKey) -> tuple[str, ...]:
    """Of an event: its kind, the shapes and colours of its bodies, and the kind for each shape."""
    bodies = [facts.scene.body(one) for one in (key.body, key.other) if one]
    shapes = " ".join(sorted(body.shape for body in bodies)) if key.kind == "hits" else bodies[0].shape
    colours = sorted({f"colour {body.colour}" for body in bodies})
    return (f"kind {key.kind}", f"kind {key.kind} {shapes}", *colours)
