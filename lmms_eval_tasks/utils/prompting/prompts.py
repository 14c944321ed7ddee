"""Prompt texts by id, each with a digest by which a run can say what it asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any

from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import PROMPT

DEFAULT = "mcq_letter"
OFFICIAL = "official"
QUESTION_AND_OPTIONS = frozenset({"question", "options"})


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
    def fields(self) -> frozenset[str]:
        """Names of the fields that the text has."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self.text) if name is not None)

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def signature(self) -> str:
        """Id and the digest's first eight digits, as written into every record."""
        return f"{self.prompt_id}:{self.sha256[:8]}"

    @staticmethod
    def literal(text: str) -> str:
        """A part of a prompt's text that stands for just this: braces are doubled."""
        return text.replace("{", "{{").replace("}", "}}")

    def render(self, **fields: str) -> str:
        """The prompt with its fields filled in; braces inside the fields stay as they are.

        Raises:
            KeyError: where the text names a field that is not given.
        """
        return self.text.format(**fields)


@cache
def read_prompt(prompt_id: str) -> Prompt:
    """One of the prompts of this installation: `<id>.txt` in the folder ``prompts`` of this package or of a benchmark.

    Raises:
        InputError: where there is no prompt of that id; the message lists those there are.
    """
    files = _prompt_files()
    if prompt_id not in files:
        raise InputError(f"Expected a prompt id, one of {', '.join(files)}, but got {prompt_id!r}.")
    return Prompt(prompt_id, files[prompt_id].read_text(encoding="utf-8").rstrip("\n"))


def prompt_ids() -> tuple[str, ...]:
    """Ids of the prompts of this installation, in alphabetical order."""
    return tuple(_prompt_files())


@cache
def _prompt_files() -> dict[str, Path]:
    """Id to file, in alphabetical order: the shared prompts, and those in the folder ``prompts`` of a benchmark."""
    shared = Path(str(resources.files("lmms_eval_tasks"))) / "prompts"
    folders = [shared, *(benchmark.folder / "prompts" for benchmark in registry().benchmarks.values())]
    return dict(sorted((file.stem, file) for folder in reversed(folders) for file in folder.glob("*.txt")))


def choose_prompt(
    kwargs: Mapping[str, Any] | None,
    find: Callable[[str], Prompt] | None = None,
    fields: frozenset[str] = QUESTION_AND_OPTIONS,
    environment: Mapping[str, str] = os.environ,
) -> Prompt:
    """The prompt that a run asks with.

    Args:
        kwargs: A task's ``lmms_eval_specific_kwargs``; its ``prompt`` names one of our prompts, ``official``, or
            another that `find` knows. The environment variable LMMS_EVAL_TASKS_PROMPT, where set, wins for the run.
        find: Finds the benchmark's own prompts, such as ``official``; None where it has none that can be had here.
        fields: What the task asks with. One of our prompts with other fields would leave the options out, say.
        environment: Environment variables.

    Raises:
        InputError: where no prompt of that name is to be had, or it has other fields.
    """
    chosen = environment.get(PROMPT) or str((kwargs or {}).get("prompt", DEFAULT))
    if chosen in prompt_ids() or (find is None and chosen != OFFICIAL):
        prompt = read_prompt(chosen)
    elif find is not None:
        prompt = find(chosen)
    else:
        raise InputError(
            f"Expected {PROMPT} to be one of {', '.join(prompt_ids())}, but got {OFFICIAL}: one of the tasks has no "
            "official prompt. Run that task by itself without it."
        )
    if prompt.fields != fields:
        fit = ", ".join(prompt_id for prompt_id in prompt_ids() if read_prompt(prompt_id).fields == fields)
        raise InputError(
            f"Expected a prompt with {' and '.join(sorted(fields, reverse=True))}, one of {fit}, but got "
            f"{chosen!r}, which has {' and '.join(sorted(prompt.fields, reverse=True)) or 'no fields'}. A run of "
            f"several tasks can only have a {PROMPT} that suits all of them."
        )
    return prompt
