"""Prompts, imported official prompts, and settings of a benchmark's own."""

from __future__ import annotations

from lmms_eval_tasks.prompting import OfficialPrompt, prompt_reader
from lmms_eval_tasks.utils.answers.question import TaskSettings
from lmms_eval_tasks.utils.benchmark.tasks import read_closing
from lmms_eval_tasks.utils.core.prompt import Prompt

__all__ = [
    "OfficialPrompt",
    "Prompt",
    "TaskSettings",
    "prompt_reader",
    "read_closing",
]
