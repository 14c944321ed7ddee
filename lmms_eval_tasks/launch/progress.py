"""What a launch shows while it goes on: one bar on a terminal, a line for each event elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from lmms_eval_tasks.utils.core.console import make_console


class Show(Protocol):
    """Shows a launch."""

    def note(self, text: str) -> None:
        """Show an event."""

    def update(self, done: int, running: int, waiting: int, failed: int) -> None:
        """Show how many parts are in which state."""


class _Lines:
    """Lines on standard error, and how things stand: a bar below them, or where there is no terminal more lines."""

    def __init__(self, count: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._console = make_console(stderr=True)
        self._states = ""
        self.bar = Progress(
            TextColumn("Parts"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self.bar.add_task("", total=count)

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def update(self, done: int, running: int, waiting: int, failed: int) -> None:
        states = f"{done} done, {running} running, {waiting} waiting, {failed} failed"
        if states != self._states and not self._console.is_terminal:
            self._console.print(f"Parts: {states}")
        self._states = states
        self.bar.update(self._task, description=states, completed=done)


@contextmanager
def show_parts(count: int) -> Iterator[Show]:
    """Show a launch of so many parts on standard error, as long as the block lasts."""
    lines = _Lines(count)
    with lines.bar:
        yield lines
