"""Reads events back out of the sentences that questions and options have."""

from __future__ import annotations

import re

from lmms_eval_tasks.worlds.scenes.scene import EventKey

NAME = r"the ([\w ]+?)"
PATTERNS = {
    "hits": re.compile(rf"{NAME} and {NAME} hit each other\.?"),
    "starts": re.compile(rf"{NAME} starts to move\.?"),
    "stops": re.compile(rf"{NAME} comes to rest\.?"),
    "falls": re.compile(rf"{NAME} falls\.?"),
    "enters": re.compile(rf"{NAME} ends up in {NAME}\.?"),
    "leaves view": re.compile(rf"{NAME} goes out of sight\.?"),
    "comes into view": re.compile(rf"{NAME} comes into sight\.?"),
}
DENIED = {
    "hits": re.compile(rf"{NAME} and {NAME} do not hit each other\.?"),
    "starts": re.compile(rf"{NAME} does not start to move\.?"),
    "falls": re.compile(rf"{NAME} does not fall\.?"),
    "enters": re.compile(rf"{NAME} does not end up in {NAME}\.?"),
}


def read_event(text: str) -> tuple[EventKey, bool]:
    """The event of a sentence in the present, and whether it is affirmed."""
    plain = text[0].lower() + text[1:]
    for affirmed, patterns in ((False, DENIED), (True, PATTERNS)):
        for kind, pattern in patterns.items():
            if found := pattern.fullmatch(plain):
                return EventKey(kind, *found.groups()), affirmed  # type: ignore[arg-type]
    raise AssertionError(f"no event: {text}")


def read_body(text: str) -> str:
    """The body that an option names."""
    found = re.fullmatch(r"The ([\w ]+)\.", text)
    assert found, text
    return found[1]
