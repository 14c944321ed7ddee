"""What commands print with: a console, tables that fit it, and progress bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lmms_eval_tasks.utils.core.wording import printable

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.progress import Progress

WIDEST = 100


class SafeConsole(Console):
    """A console that escapes the characters of texts which a terminal would obey, or which no UTF-8 can write."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; see `rich.console.Console.print`."""
        super().print(*(printable(one, "\n") if isinstance(one, str) else one for one in objects), **options)


class SafeTable(Table):
    """A table that escapes them in its title and its cells, where brackets are what they are, and no style."""

    def __init__(self, *headers: Any, title: str | None = None, **options: Any) -> None:
        super().__init__(*headers, title=title and _cell(title), **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row; see `rich.table.Table.add_row`."""
        super().add_row(*map(_cell, cells), **options)


def _cell(content: Any) -> Any:
    """A cell's text as one without markup; a text with a style of its own keeps that."""
    if isinstance(content, Text):
        content.plain = printable(content.plain, "\n")
        return content
    return escape(printable(content, "\n")) if isinstance(content, str) else content


def text_table(title: str | None, *columns: str) -> Table:
    """An empty table; without a title, all columns but the first are numbers."""
    table = SafeTable(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index and title is None else "left", overflow="fold")
    return table


def make_console() -> Console:
    """Standard output, at most 100 columns wide."""
    console = SafeConsole(highlight=False)
    # A file or a pipe has no width of its own, and rich would take 80 columns for it.
    console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


@contextmanager
def show_progress() -> Iterator[Progress]:
    """A bar on stderr per kind of work."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, Any] = {}

    def advance(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield advance
