"""Reads a choice from free text as a careful reader would."""

from lmms_eval_tasks.utils.answers.reader import read_choice

__all__ = ["read_choice"]
