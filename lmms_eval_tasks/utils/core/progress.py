"""Progress callbacks for long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""A function that long work calls with what is being done ("test: placing clips"), how many are done, and how many
there are."""


def no_progress(what: str, done: int, total: int) -> None:
    """A `Progress` that shows nothing: the default of what takes one."""
