"""What commands print with: a console, tables that fit it, and progress bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.utils.core.wording import printable_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from lmms_eval_tasks.utils.core.progress import Progress
    from lmms_eval_tasks.utils.core.tables import FittingTable

WIDEST = 100
ENDLESS = 1_000_000
"""Columns that no row needs."""


def text_table(
    title: str | None, *columns: str, names: int = 1, numbers: bool | None = None, blank_repeats: bool = False
) -> FittingTable:
    """An empty table; its ``add_row`` takes a text or a count for each column, and a console prints it at any width.

    Args:
        title: What stands above it. Without one, the columns that are no names hold numbers, which stand to the right.
        columns: Headings of the columns.
        names: How many columns, the first ones, hold names; they are repeated where the others do not fit side by side.
        numbers: Whether the columns that are no names hold numbers, where the title does not say so.
        blank_repeats: Whether a terminal shows a name only where it is not that of the row above.
    """
    from lmms_eval_tasks.utils.core.tables import FittingTable

    numbers = title is None if numbers is None else numbers
    return FittingTable(title, columns, names, numbers, padding=1, blank_repeats=blank_repeats)


def make_console(stderr: bool = False) -> Console:
    """Rich's console, at most 100 columns wide; into a file or a pipe it writes 100, and each row of a table whole.

    No text of a release or of a model can give the terminal orders, and brackets in it are no markup.

    Args:
        stderr: Whether it prints on standard error, instead of standard output.
    """
    from rich.console import Console

    from lmms_eval_tasks.utils.core.tables import FittingTable

    class SafeConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable_lines(text), **options)

        def print(self, *objects: Any, **options: Any) -> None:
            width = self.width
            if not self.is_terminal and any(isinstance(one, FittingTable) for one in objects):
                self.width = ENDLESS
            super().print(*objects, **options)
            self.width = width

    console = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    # A file or a pipe has no width of its own, and rich would take 80 columns for it.
    console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


@contextmanager
def show_progress() -> Iterator[Progress]:
    """A bar on stderr for each kind of work, in a `with` block; nothing is shown where stderr is no terminal.

    It gives the function to call, as `Progress` says: what is being done, how many are done, and how many there are.
    """
    from rich.console import Console
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
