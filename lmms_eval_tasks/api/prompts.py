"""Prompts beyond the usual ones: official texts, and settings of one's own."""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.benchmark import TaskSettings
from lmms_eval_tasks.utils.benchmark.task_files import read_closing
from lmms_eval_tasks.utils.prompting.official_prompts import OfficialPrompt
from lmms_eval_tasks.utils.prompting.prompts import Prompt
from lmms_eval_tasks.utils.prompting.questions import prompt_reader

__all__ = [
    "OfficialPrompt",
    "Prompt",
    "TaskSettings",
    "prompt_reader",
    "read_closing",
]
