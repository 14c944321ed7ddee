"""Runs as commands read them: what is odd about a run is said before what it scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.runs.run import Run

ALLOW_INCOMPLETE = "Also the part that is there of a run that was cut short."


def open_runs(
    output: Output, sources: Sequence[Path], allow_incomplete: bool = False, allow_predictions: bool = False
) -> list[Run]:
    """Read runs, and say what their readers have to know; arguments and errors as for `read_run`."""
    runs = [read_run(source, allow_incomplete, allow_predictions) for source in sources]
    for run in runs:
        print_notes(output, run)
    return runs


def print_notes(output: Output, run: Run) -> None:
    """Say what to know of a run before its scores."""
    for note in run.notes:
        output.note(f"note: {note}.", style="yellow", whole=True)
    if run.incomplete:
        output.warn(f"INCOMPLETE: the run was cut short, {run.incomplete}.")
