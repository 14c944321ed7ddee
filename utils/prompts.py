"""Prompt texts by id, each with a digest by which a run can say what it asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

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
        KeyError: where there is no prompt of that id; the message lists those there are.
    """
    folder = resources.files("lmms_eval_tasks.prompts")
    file = folder / f"{prompt_id}.txt"
    if not file.is_file():
        known = sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))
        raise KeyError(f"Expected a prompt id, one of {', '.join(known)}, but got {prompt_id!r}.")
    return Prompt(prompt_id, file.read_text(encoding="utf-8").rstrip("\n"))


def choose_prompt(kwargs: Mapping[str, Any] | None, official: Callable[[], Prompt] | None = None) -> Prompt:
    """The prompt that a run asks with.

    Args:
        kwargs: A task's ``lmms_eval_specific_kwargs``; its ``prompt`` names one of our prompts, or ``official``.
            The environment variable LMMS_EVAL_TASKS_PROMPT, where set, wins for the whole run.
        official: Finds the benchmark's own prompt; None where the benchmark has none that can be had here.

    Raises:
        KeyError: where no prompt of that name is to be had.
    """
    chosen = os.environ.get(CHOICE) or str((kwargs or {}).get("prompt", DEFAULT))
    return official() if chosen == OFFICIAL and official else read_prompt(chosen)
