"""Reads a verdict from a free answer: yes, no, or that it cannot be told."""

from lmms_eval_tasks.utils.verdicts.reader import read_verdict, stated_verdicts
from lmms_eval_tasks.utils.verdicts.statements import NO, UNCLEAR, YES

__all__ = ["NO", "UNCLEAR", "VERDICT_READER", "YES", "read_verdict", "stated_verdicts"]

VERDICT_READER = "verdict reader 4"
"""Name and version of the reader, for a run's card: the version moves when it reads any response otherwise."""
