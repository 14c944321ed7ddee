"""Prompts, imported official prompts, and settings of a benchmark's own."""

from __future__ import annotations

from lmms_eval_tasks.prompting import OfficialPrompt, prompt_reader
from lmms_eval_tasks.utils.answers.hooks import Prompt, TaskSettings
from lmms_eval_tasks.utils.benchmark.tasks import read_closing

__all__ = ["OfficialPrompt", "Prompt", "TaskSettings", "prompt_reader", "read_closing"]
