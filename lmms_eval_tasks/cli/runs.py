"""Runs as commands read them: what is odd about a run is printed before what it scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.utils.runs.run import Run

if TYPE_CHECKING:
    from rich.console import Console

ALLOW_INCOMPLETE = "Also the part that is there of a run that was cut short."


def open_runs(
    console: Console, sources: Sequence[Path], allow_incomplete: bool = False, allow_predictions: bool = False
) -> list[Run]:
    """Read runs, and print what their readers have to know; arguments and errors as for `read_run`."""
    runs = [read_run(source, allow_incomplete, allow_predictions) for source in sources]
    for run in runs:
        print_notes(console, run)
    return runs


def print_notes(console: Console, run: Run) -> None:
    """Print what to know of a run before its scores."""
    for note in run.notes:
        console.print(f"note: {note}.", style="yellow", soft_wrap=True)
    if run.incomplete:
        console.print(f"INCOMPLETE: the run was cut short, {run.incomplete}.", style="bold red")
