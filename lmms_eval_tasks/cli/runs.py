"""Runs as commands read them: what is odd about a run is said before what it scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.report.runs import entries_of
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.naming import name_runs
from lmms_eval_tasks.utils.runs.run import Run

ALLOW_INCOMPLETE = "Also the part that is there of a run that was cut short."


LEAVE_OUT = "Leave out the groups that a filter removed: its file."
WITHOUT = "Also the scores without the groups that a filter removed: its file."
NAMES = "What to call a run; once for each, in their order."


def open_runs(
    output: Output,
    sources: Sequence[Path],
    allow_incomplete: bool = False,
    allow_predictions: bool = False,
    names: Sequence[str] = (),
    task: str = "",
) -> list[Run]:
    """Read runs, name them, and say what their readers have to know; errors also as for `read_run`."""
    runs = [read_run(source, allow_incomplete, allow_predictions) for source in sources]
    refuse_doubled([run.path for run in runs], sources)
    named = name_runs(runs, names)
    if task and (scored := [run for run in runs if not run.only_predicted]):
        entries_of(scored, task)
    for run in runs:
        print_notes(output, run)
    return named


def refuse_doubled(paths: Sequence[Path], sources: Sequence[Path]) -> None:
    """Refuse a run that is given twice; `paths` are the results files that were found at the sources."""
    named: dict[Path, list[str]] = {}
    for path, source in zip(paths, sources, strict=True):
        named.setdefault(path.resolve(), []).append(str(source))
    doubled = [f"{' and '.join(given)} are one run, {path}" for path, given in named.items() if len(given) > 1]
    if doubled:
        raise InputError(f"Expected different runs, but {'; '.join(doubled)}.")


def print_notes(output: Output, run: Run) -> None:
    """Say what to know of a run before its scores."""
    for note in run.notes:
        output.note(f"note: {note}.", style="yellow", whole=True)
    if run.incomplete:
        output.warn(f"INCOMPLETE: the run was cut short, {run.incomplete}.")
