"""Parts of a run that are run apart from each other, each as a run of its own: which one a run is."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import SHARD

MERGE = "lmms-eval-tasks merge PART… --out DIR"
"""The command that makes a whole run of the runs of all parts."""


class Shard(NamedTuple):
    """One of the parts into which a run is cut."""

    part: int
    of: int

    def __str__(self) -> str:
        """As the variable has it: ``3/7``."""
        return f"{self.part}/{self.of}"


def parse_shard(text: str) -> Shard:
    """A part as it is written: ``3/7`` is the third of seven."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    shard = Shard(int(match[1]), int(match[2])) if match else None
    if shard is None or not 1 <= shard.part <= shard.of:
        raise InputError(f"Expected {SHARD} to be i/N, one of N parts counted from 1, such as 3/7, but got {text!r}.")
    return shard


def read_shard() -> Shard | None:
    """The part that $LMMS_EVAL_TASKS_SHARD asks for; None where it is not set, or empty."""
    text = os.environ.get(SHARD, "")
    return parse_shard(text) if text else None
