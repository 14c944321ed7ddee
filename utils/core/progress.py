"""How long work tells its caller how far it is."""

from __future__ import annotations

from collections.abc import Callable

# Called with what is being done, how many are done, and how many there are.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""
