"""Plays all models of a build by the example's stand-in, and fails where a fault is planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from judge_server import Action, Drop, Fail, Say
from stub_server import Player, as_text, material_of

PASSING = (Say('{"cut off'), Say("{}"), Fail(500), Drop(), Say("I am unable to do so."))


@dataclass(frozen=True)
class Asked:
    """A request: its prompt, role, material and pictures, how often it came before, and what is known of its case."""

    prompt: str
    role: str
    given: Mapping[str, Any]
    pictures: tuple[bytes, ...]
    before: int
    about: Any = None


Change = Action | Callable[[Asked, Any], Any]
"""What is done in place of a reply, or what is made of a good one."""


@dataclass
class BuildPlayer:
    """Answers prompts, and their pictures, as a test's server script.

    Attributes:
        honest: Answers without a fault.
        changes: Fault and role to what is done; without a role, in every one.
        find: The fault that is planted in the case of a request, and what is known of the case.
        passing: Of a hundred prompts, how many meet a fault that is gone when they are asked again.
    """

    honest: Player
    changes: Mapping[tuple[str, str], Change]
    find: Callable[[Asked], tuple[str, Any]]
    passing: int = 0

    def __call__(self, prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        asked = Asked(prompt, self.honest.role_of(prompt), material_of(prompt), pictures, before)
        fault, about = self.find(asked)
        change = self.changes.get((fault, asked.role), self.changes.get((fault, "")))
        if isinstance(change, Action):
            return change
        draw = int(sha256(prompt.encode()).hexdigest(), 16)
        if draw % 100 < self.passing and before == 0:
            return PASSING[draw // 100 % len(PASSING)]
        reply = self.honest.reply(prompt)
        if change:
            reply = change(replace(asked, about=about), reply)
        return reply if isinstance(reply, Action) else Say(as_text(reply))
