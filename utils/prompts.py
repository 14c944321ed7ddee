"""Prompt texts by id, each with a digest by which a run can say what it asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lmms_eval_tasks.utils.problems import InputError

CHOICE = "LMMS_EVAL_TASKS_PROMPT"
DEFAULT = "mcq_letter"
OFFICIAL = "official"


@dataclass(frozen=True)
class Prompt:
    """A prompt text with its fields in braces.

    Attributes:
        prompt_id: Name by which a task's configuration chooses it.
        text: The text, for `str.format`.
    """

    prompt_id: str
    text: str

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def signature(self) -> str:
        """Id and the digest's first eight digits, as written into every record."""
        return f"{self.prompt_id}:{self.sha256[:8]}"

    def render(self, **fields: str) -> str:
        """The prompt with its fields filled in; braces inside the fields stay as they are.

        Raises:
            KeyError: where the text names a field that is not given.
        """
        return self.text.format(**fields)


@cache
def read_prompt(prompt_id: str) -> Prompt:
    """One of this package's own prompts.

    Raises:
        InputError: where there is no prompt of that id; the message lists those there are.
    """
    if prompt_id not in prompt_ids():
        raise InputError(f"Expected a prompt id, one of {', '.join(prompt_ids())}, but got {prompt_id!r}.")
    file = resources.files("lmms_eval_tasks.prompts") / f"{prompt_id}.txt"
    return Prompt(prompt_id, file.read_text(encoding="utf-8").rstrip("\n"))


def prompt_ids() -> tuple[str, ...]:
    """Ids of this package's own prompts, in alphabetical order."""
    names = (entry.name for entry in resources.files("lmms_eval_tasks.prompts").iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in names if name.endswith(".txt")))


def choose_prompt(kwargs: Mapping[str, Any] | None, official: Callable[[], Prompt] | None = None) -> Prompt:
    """The prompt that a run asks with.

    Args:
        kwargs: A task's ``lmms_eval_specific_kwargs``; its ``prompt`` names one of our prompts, or ``official``.
            The environment variable LMMS_EVAL_TASKS_PROMPT, where set, wins for the whole run.
        official: Finds the benchmark's own prompt; None where the benchmark has none that can be had here.

    Raises:
        InputError: where no prompt of that name is to be had.
    """
    chosen = os.environ.get(CHOICE) or str((kwargs or {}).get("prompt", DEFAULT))
    if chosen != OFFICIAL:
        return read_prompt(chosen)
    if official is None:
        raise InputError(
            f"Expected {CHOICE} to be one of {', '.join(prompt_ids())}, but got {OFFICIAL}: the official prompt of "
            "one of the tasks is not on this machine. Run that task by itself without it."
        )
    return official()


def check_choice() -> None:
    """Refuse a choice of prompt for the whole run that no task can follow.

    Raises:
        InputError: where LMMS_EVAL_TASKS_PROMPT names no prompt.
    """
    chosen = os.environ.get(CHOICE)
    if chosen and chosen != OFFICIAL and chosen not in prompt_ids():
        raise InputError(f"Expected {CHOICE} to be {OFFICIAL} or one of {', '.join(prompt_ids())}, but got {chosen!r}.")
