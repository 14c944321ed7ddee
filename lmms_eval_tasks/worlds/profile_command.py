"""`worlds profile`: which step of a causal answer fails in finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lmms_eval_tasks.api.runs import Run
    from lmms_eval_tasks.worlds.profile import ModelProfile


def profile(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of runs of worlds: the latest run of each.")],
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Also the part that is there of a run that was cut short.")
    ] = False,
) -> None:
    """Show which step of a causal answer fails: seeing, ordering, explaining, supposing, or showing."""
    from lmms_eval_tasks.api.commands import make_console
    from lmms_eval_tasks.api.runs import read_run
    from lmms_eval_tasks.worlds.profile_tables import print_profile

    finished = [read_run(source, allow_incomplete) for source in runs]
    models = [run.title for run in finished]
    named = [
        run.title if models.count(run.title) == 1 else f"{run.title} ({source})"
        for run, source in zip(finished, runs, strict=True)
    ]
    # Of all runs, before anything is printed of the first.
    profiles = [profiles_of(run, name) for run, name in zip(finished, named, strict=True)]
    console = make_console()
    for run, of_run in zip(finished, profiles, strict=True):
        for note in run.notes:
            console.print(f"note: {note}.", style="yellow", soft_wrap=True)
        for one in of_run:
            print_profile(console, one)


def profiles_of(run: Run, name: str) -> Sequence[ModelProfile]:
    """The profiles of a run, one for each view of its clips in which it has both kinds of questions."""
    from lmms_eval_tasks.api import InputError, RunRecords
    from lmms_eval_tasks.worlds.profile import profile_of
    from lmms_eval_tasks.worlds.profile_runs import CONTROLS, LEADING, task_name, tasks_by_view

    found = []
    for number, (view, tasks) in enumerate(tasks_by_view(run).items(), 1):
        shown = f"{name}, {view}" if view else name
        held = [task for task in run.records if run.records[task] and run.records[task][0].view == view]
        found.append(profile_of(RunRecords(str(number), shown, list(tasks.values()), run.apart(held), run.path)))
    if known := [one for one in found if one]:
        return known
    causal = ", ".join(map(task_name, LEADING))
    raise InputError(
        f"Expected a run with scored questions of {task_name(CONTROLS)} and of a causal task, any of {causal}, with "
        f"the same view, but {run.path} has {', '.join(run.records)}."
    )
