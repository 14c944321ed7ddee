"""Reads a choice from free text as a careful reader would."""

from lmms_eval_tasks.utils.answers.reader import read_choice

__all__ = ["EXTRACTOR", "read_choice"]

EXTRACTOR = "choice reader 2"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
