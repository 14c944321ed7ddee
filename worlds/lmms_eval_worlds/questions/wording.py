"""Names of bodies, events and changes in questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lmms_eval_worlds.scenes.scene import EventKey, EventKind


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


def _phrase(form: str) -> Callable[[EventKey], str]:
    """Return what puts an event into words: who, one body or two that hit each other, and a form of the verb."""

    def phrase(key: EventKey) -> str:
        both = key.kind == "hits"
        who = f"{name(key.body)} and {name(key.other)}" if both else name(key.body)
        verb = {form: text.format(other=name(key.other)) for form, text in VERBS[key.kind]._asdict().items()}
        return form.format(who=who, does="do" if both else "does", **verb)

    return phrase


happens = _phrase("{who} {present}")
happens_not = _phrase("{who} {does} not {base}")
happened = _phrase("{who} {past}")
to_do = _phrase("{who} to {base}")
# After "why", as a condition, and of another world: as a question, and as a statement.
did = _phrase("did {who} {base}")
had_not = _phrase("had {who} not {participle}")
would_have = _phrase("would {who} have {participle}")
would_still_have = _phrase("would {who} still have {participle}")
it_would_not_have = _phrase("{who} would not have {participle}")
it_would_still_have = _phrase("{who} would still have {participle}")


def change(kind: str, body: str, wording: int) -> str:
    """Return the change as the beginning of a sentence in lower case, such as "had the red ball not been there"."""
    return CHANGES[kind][wording % len(CHANGES[kind])].format(body=name(body), delay=DELAY)


def sentence(text: str, end: str = ".") -> str:
    return f"{text[0].upper()}{text[1:]}{end}"
