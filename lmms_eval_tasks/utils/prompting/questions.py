"""How a multiple-choice question is put: the prompt of a row, with its options lettered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import TaskSettings
from lmms_eval_tasks.utils.core.problems import InputError

OPTIONS_PROMPT = "mcq_options"
"""The prompt that asks with lettered options and without the question."""
NO_CLIP = "(The clip of this question is missing. The answer will not be scored.)"


def list_options(options: Sequence[str]) -> str:
    """The options one per line, lettered: ``(A) …``."""
    return "\n".join(f"({letter}) {option}" for letter, option in zip(ascii_uppercase, options, strict=False))


def without_clip(text: str, asked: bool) -> str:
    """A prompt, in other words where the clip is missing."""
    return text if asked else "\n".join(filter(None, (NO_CLIP, text)))


def ask_choice(row: Mapping[str, Any], settings: TaskSettings) -> str:
    """The prompt of a row with its question, and where the prompt lists options, these one per line: ``(A) …``."""
    assert settings.prompt is not None
    if "options" in settings.prompt.fields and not row["options"]:
        raise InputError(
            f"Expected item {row['item_id']} to have options, which the prompt {settings.prompt.prompt_id} lists, but "
            "it has none.\nRemedy: name another prompt in the task's YAML, under lmms_eval_specific_kwargs, default."
        )
    return settings.prompt.render(question=row["question"], options=list_options(row["options"]))
