"""The prompts of this installation by their ids, and which one a run asks with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import PROMPT
from lmms_eval_tasks.utils.prompting.prompts import DEFAULT, OFFICIAL, QUESTION_AND_OPTIONS, Prompt


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
