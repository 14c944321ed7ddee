"""Names of bodies, events and changes in questions."""

from __future__ import annotations

from typing import Literal, NamedTuple

from lmms_eval_tasks.worlds.scenes.scene import EventKey, EventKind


class VerbForms(NamedTuple):
    """Forms of a verb, with what follows it; `{other}` stands for the other body."""

    base: str
    present: str
    past: str
    participle: str


VERBS: dict[EventKind, VerbForms] = {
    "hits": VerbForms("hit each other", "hit each other", "hit each other", "hit each other"),
    "starts": VerbForms("start to move", "starts to move", "started to move", "started to move"),
    "stops": VerbForms("come to rest", "comes to rest", "came to rest", "come to rest"),
    "falls": VerbForms("fall", "falls", "fell", "fallen"),
    "enters": VerbForms("end up in {other}", "ends up in {other}", "ended up in {other}", "ended up in {other}"),
    "leaves view": VerbForms("go out of sight", "goes out of sight", "went out of sight", "gone out of sight"),
    "comes into view": VerbForms("come into sight", "comes into sight", "came into sight", "come into sight"),
}

CHANGES: dict[str, tuple[str, ...]] = {
    "remove": (
        "had {body} not been there",
        "if {body} had never been in the scene",
        "without {body}",
        "if someone had taken {body} away before the clip began",
    ),
    "freeze": (
        "had {body} been held where it is from the start",
        "if {body} had been fixed in place throughout",
        "with {body} glued to where it is at the start",
        "if someone had held {body} still from the beginning to the end",
    ),
    "delay": (
        "had {body} been held for the first {delay} and only then let go",
        "if {body} had set off {delay} later",
        "with {body} held in place for the first {delay}",
        "if someone had let go of {body} only after {delay}",
    ),
}
"""How a change is put, several ways each; the same number for all kinds."""
DELAY = "0.6 seconds"
"""How long a delayed body is held, as in `physics.other_worlds`, which needs the physics engine."""


def name(body: str) -> str:
    return f"the {body}"


def subject(key: EventKey) -> str:
    """Return the subject of an event: one body, or two that hit each other."""
    return f"{name(key.body)} and {name(key.other)}" if key.kind == "hits" else name(key.body)


def _form(key: EventKey, form: int) -> str:
    return VERBS[key.kind][form].format(other=name(key.other))


def happens(key: EventKey) -> str:
    """In the present: "the blue box falls"."""
    return f"{subject(key)} {_form(key, 1)}"


def happens_not(key: EventKey) -> str:
    """Denied: "the blue box does not fall"."""
    return f"{subject(key)} {_do(key)} not {_form(key, 0)}"


def happened(key: EventKey) -> str:
    """In the past: "the blue box fell"."""
    return f"{subject(key)} {_form(key, 2)}"


def why(key: EventKey) -> str:
    """As a question in the past, after "why": "did the blue box fall"."""
    return f"did {subject(key)} {_form(key, 0)}"


def would_have(key: EventKey, still: bool = False) -> str:
    """As a question about another world: "would the blue box still have fallen"."""
    return f"would {subject(key)}{' still' if still else ''} have {_form(key, 3)}"


def would(key: EventKey, adverb: Literal["not", "still"]) -> str:
    """As a statement about another world: "the blue box would not have fallen"."""
    return f"{subject(key)} would {adverb} have {_form(key, 3)}"


def to_do(key: EventKey) -> str:
    """After "for": "the blue box to fall"."""
    return f"{subject(key)} to {_form(key, 0)}"


def had_not(key: EventKey) -> str:
    """As a condition: "had the blue box not fallen"."""
    return f"had {subject(key)} not {_form(key, 3)}"


def change(kind: str, body: str, wording: int) -> str:
    """Return the change as the beginning of a sentence in lower case, such as "had the red ball not been there"."""
    return CHANGES[kind][wording % len(CHANGES[kind])].format(body=name(body), delay=DELAY)


def sentence(text: str, end: str = ".") -> str:
    return f"{text[0].upper()}{text[1:]}{end}"


def _do(key: EventKey) -> str:
    return "do" if key.kind == "hits" else "does"
