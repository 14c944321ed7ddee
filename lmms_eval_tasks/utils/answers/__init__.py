"""Reads a choice from free text as a careful reader would.

Where it reads any response otherwise, the version in `utils.benchmark.benchmark.CHOICE_READER` moves.
"""

from lmms_eval_tasks.utils.answers.reader import read_choice

__all__ = ["read_choice"]
