"""Progress callbacks for long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and how many there are."""


def no_progress(what: str, done: int, total: int) -> None:
    """No-op progress callback."""
