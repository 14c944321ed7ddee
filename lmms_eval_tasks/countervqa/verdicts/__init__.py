"""Reads a verdict from a free answer: yes, no, or that it cannot be told."""

from lmms_eval_tasks.countervqa.verdicts.reader import read_verdict
from lmms_eval_tasks.countervqa.verdicts.statements import NO, UNCLEAR, YES

__all__ = ["EXTRACTOR", "NO", "UNCLEAR", "YES", "read_verdict"]

EXTRACTOR = "verdict reader 2"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
