"""Where a command's tables, notes and warnings go: to a terminal one by one, or into one document."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.console import make_console
from lmms_eval_tasks.utils.core.formats import Document, Format, write_document

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.tables import FittingTable


class Output:
    """What a command says; without a format it is printed at once."""

    def __init__(self, command: str, form: Format | None = None) -> None:
        self._console = make_console(stderr=form is not None)
        self._form = form
        self._document = Document(command, lmms_eval_tasks.__version__)

    def table(self, table: FittingTable, gap: bool = False) -> None:
        """Show a table, on a terminal after an empty line where there is to be a gap."""
        self._document.tables.append(table)
        if self._form is None:
            self._console.print(*([""] if gap else []), table)

    def note(self, text: str, style: str | None = None, indent: int = 0, whole: bool = False) -> None:
        """Say what is to be known beside the numbers."""
        self._document.notes.append(text.strip())
        self._print(text, style, indent, whole)

    def warn(self, text: str, style: str = "bold red", indent: int = 0, whole: bool = False) -> None:
        """Say what has to be known before the numbers are read; it stays with them in every format."""
        self._document.warnings.append(text.strip())
        self._print(text, style, indent, whole)

    def _print(self, text: str, style: str | None, indent: int, whole: bool) -> None:
        from rich.padding import Padding

        shown = Padding(text, (0, 0, 0, indent), expand=False) if indent else text
        self._console.print(shown, style=style, soft_wrap=whole)

    def close(self) -> None:
        """Write the document, where there is a format."""
        if self._form is not None:
            sys.stdout.write(write_document(self._document, self._form))


@contextmanager
def open_output(command: str, form: Format | None = None) -> Iterator[Output]:
    """An output that is closed where its block ends well; arguments as for `Output`."""
    output = Output(command, form)
    yield output
    output.close()
