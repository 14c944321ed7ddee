"""`lmms-eval-tasks compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import AllowIncompleteOption, FormatOption, NamesOption, TaskOption, open_runs
from lmms_eval_tasks.report.card_tables import print_differences
from lmms_eval_tasks.report.published_tables import published_tables, reasons_of
from lmms_eval_tasks.report.run_comparison import READING, compare_runs
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.scores import comparable_parts, groups_of
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Output, open_output
from lmms_eval_tasks.utils.data.manifest import read_filter
from lmms_eval_tasks.utils.scoring.compare import Part


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of two runs or more; of each its latest run.")],
    published: Annotated[
        str, typer.Option(help="A published model: its figures beside the runs', and why they may differ.")
    ] = "",
    names: NamesOption = None,
    task: TaskOption = "",
    allow_incomplete: AllowIncompleteOption = False,
    without: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Leave out the groups that a filter removed: its file.")
    ] = None,
    form: FormatOption = None,
) -> None:
    """Show whether one run beats another on the groups of items that both answered.

    Examples:
        lmms-eval-tasks compare out/first out/second
        lmms-eval-tasks compare out/first out/second out/third --task causalvqa_debug_paired
        lmms-eval-tasks compare out/first --published InternVL2.5-8B --task mvp_mini
    """
    if len(runs) < 2 and not published:
        raise InputError(f"Expected two runs or more to compare, but got {len(runs)}.")
    with open_output("compare", form) as output:
        read = open_runs(output, runs, allow_incomplete, names=names or ())
        if without:
            removed = read_filter(without)
            read = [run.without(removed) or run for run in read]
        if published:
            _show_published(output, read, published, task)
            return
        parts = [comparable_parts(run) for run in read]
        shared = _shared_names(read, parts, task)
        for number, (run, source) in enumerate(zip(read, runs, strict=True), start=1):
            output.note(f"run {number}: {run.title}, {source}", whole=True)
        for name in shared:
            _show(output, name, read, parts)
        tasks = [one for part in parts for name in shared for one in part.get(name, ())]
        print_differences(output, read, tasks)
        output.note(f"{READING} Formulas: docs/statistics.md.")


def _show_published(output: Output, runs: Sequence[Run], model: str, task: str) -> None:
    for table in published_tables(runs, model, task):
        output.table(table)
    for run in runs:
        tasks = run.tasks_of(task)
        if apart := run.apart(tasks):
            output.warn(f"{run.title} is of {apart}: no published figure is of the same items.")
        for line in reasons_of(run, tasks[0]):
            output.note(line)


def _show(output: Output, name: str, runs: Sequence[Run], parts: Sequence[Mapping[str, Part]]) -> None:
    tables, differences = compare_runs(name, dict(enumerate(runs, start=1)))
    for place, table in enumerate(tables):
        output.table(table, gap=not place)
    for difference in differences:
        output.warn(difference)
    if missing := [str(number) for number, part in enumerate(parts, start=1) if name not in part]:
        output.note(f"not in run {', '.join(missing)}")


def _shared_names(runs: Sequence[Run], parts: Sequence[Mapping[str, Part]], task: str) -> list[str]:
    """Tasks and groups that at least two runs hold; a task of such a group only where it is asked for."""
    names = dict.fromkeys(name for part in parts for name in part)
    shared = [name for name in names if sum(name in part for part in parts) > 1]
    if not shared:
        tasks = "; ".join(", ".join(part) for part in parts)
        raise InputError(f"Expected runs that share a task, but they hold {tasks}.")
    if task and task not in shared:
        raise InputError(f"Expected a task or group of two of these runs, any of {', '.join(shared)}, but got {task}.")
    grouped = {name for run in runs for group, tasks in groups_of(run).items() if group in shared for name in tasks}
    return [task] if task else [name for name in shared if name not in grouped]
