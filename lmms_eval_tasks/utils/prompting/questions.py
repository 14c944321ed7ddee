"""How a multiple-choice question is put: the prompt of a row, with its options lettered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskKind, TaskSettings
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.prompting.prompts import QUESTION_AND_OPTIONS, Prompt, choose_prompt, prompt_ids, read_prompt

OPTIONS_PROMPT = "mcq_options"
"""The prompt that asks with lettered options and without the question."""
NO_CLIP = "(The clip of this question is missing. The answer will not be scored.)"


def list_options(options: Sequence[str]) -> str:
    """The options one per line, lettered: ``(A) …``."""
    return "\n".join(f"({letter}) {option}" for letter, option in zip(ascii_uppercase, options, strict=False))


def without_clip(text: str, asked: bool) -> str:
    """A prompt, in other words where the clip is missing.

    lmms-eval's response cache goes by the prompt's text, and an answer to the placeholder must not be found again once
    the clip is there.
    """
    return text if asked else "\n".join(filter(None, (NO_CLIP, text)))


def ask_choice(row: Mapping[str, Any], settings: TaskSettings) -> str:
    """The prompt of a row with its question, and where the prompt lists options, these one per line: ``(A) …``.

    Raises:
        InputError: where the prompt lists options, and the row has none.
    """
    assert settings.prompt is not None
    if "options" in settings.prompt.fields and not row["options"]:
        raise InputError(
            f"Expected item {row['item_id']} to have options, which the prompt {settings.prompt.prompt_id} lists, but "
            "it has none.\nRemedy: name another prompt in the task's YAML, under lmms_eval_specific_kwargs, default."
        )
    return settings.prompt.render(question=row["question"], options=list_options(row["options"]))


def prompt_reader(
    find: Callable[[str], Prompt] | None = None,
    fields: frozenset[str] = QUESTION_AND_OPTIONS,
    default: str | None = None,
) -> Callable[[Mapping[str, Any], Mapping[str, str]], TaskSettings]:
    """What reads the settings of a task of which only the prompt can be chosen, for `TaskKind.read_settings`.

    Args:
        find: Finds the benchmark's own prompts by name, such as ``official``; None where it has none.
        fields: What the task asks with: the fields that a prompt's text has to have.
        default: Id of the prompt where the configuration names none; without it ``mcq_letter``.

    Returns:
        A function of a task's ``lmms_eval_specific_kwargs`` and the environment variables, of which
            LMMS_EVAL_TASKS_PROMPT wins. It raises InputError where no prompt of the name is to be had, or it has other
            fields.
    """

    def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> TaskSettings:
        named = {"prompt": default, **kwargs} if default else kwargs
        return TaskSettings(choose_prompt(named, find, fields, environment))

    return read_settings


def read_task_settings(
    benchmark: Benchmark, kind: TaskKind, kwargs: Mapping[str, Any], environment: Mapping[str, str]
) -> TaskSettings:
    """The settings of a benchmark's tasks of a kind, as the kind reads them. Of one that does not say how, only the
    prompt can be chosen, with the fields of the one that the task's YAML names, and nothing where it is not answered in
    words.

    Raises:
        InputError: where they cannot be used.
    """
    if kind.read_settings:
        return kind.read_settings(kwargs, environment)
    if kind.takes_losses:
        return TaskSettings()
    asks_judges = benchmark.official_prompt is not None and not benchmark.official_prompt.for_items
    named = kwargs.get("prompt")
    fields = read_prompt(named).fields if named in prompt_ids() else QUESTION_AND_OPTIONS
    return prompt_reader(None if asks_judges else benchmark.find_prompt, fields)(kwargs, environment)
