"""Failures of a model: whether memory ran out, and whether one after the other has the same cause."""

from __future__ import annotations

import gc
import re

import torch

from lmms_eval_tasks.host.ranks import RunStopped

ENOUGH = 3
"""After so many alike in a row the run ends."""
OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory")


class RepeatedFailures:
    """Ends a run in which one thing after the other fails in the same way, for no reason of its own."""

    def __init__(self, things: str) -> None:
        self._things = things
        self._causes: list[str] = []

    def note(self, message: str | None, shared: str, name: str = "") -> None:
        """Count one more."""
        if message is None:
            self._causes.clear()
            return
        cause = cause_of(message, name)
        self._causes = [*self._causes, cause] if cause in self._causes else [cause]
        if len(self._causes) == ENOUGH:
            raise RunStopped(
                f"{ENOUGH} {self._things} in a row failed in the same way, so the others would too:\n"
                f"  {message}\n{shared}"
            )


def cause_of(message: str, name: str) -> str:
    """Return a message without a thing's name and without numbers, equal for things that fail for one cause."""
    return re.sub(r"\d+", "#", message.replace(name, "") if name else message)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the device or the machine has no memory left."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or bool(OUT_OF_MEMORY.search(str(error)))


def describe_error(error: Exception) -> str:
    """An error in one line: its kind, and the first line of what it says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def free_memory() -> None:
    """Give cached device memory back."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
