"""The tasks and groups that runs hold, and how their benchmark shows each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS, Column
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, pair_references
from lmms_eval_tasks.utils.runs.run import Run


def columns_of(task: str) -> tuple[Column, ...]:
    """The columns of a task or group; those of pairs for a task of no benchmark."""
    known = registry().find_task(task)
    return known.kind.columns if known else PAIR_COLUMNS


def references_of(name: str, task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The scores of a task or group that its benchmark sets beside published figures; the leading one first.

    `task` is one of its tasks. A view stands beside the figures of its parent. A benchmark can distinguish parts of a
    release by how many items a run has.
    """
    known = registry().find_task(task)
    return known.kind.references(registry().find_parent(name), items) if known else pair_references()


def parts_of(run: Run) -> Iterator[tuple[str, Sequence[str]]]:
    """The run's groups with their tasks, then its tasks that are in none of them.

    A group of tasks of several benchmarks has no columns in common: its tasks are shown one by one.
    """
    find = registry().find_task
    benchmarks = {task: known.benchmark.name for task in run.records if (known := find(task))}
    groups = {group: tasks for group, tasks in run.groups.items() if len(set(map(benchmarks.get, tasks))) == 1}
    yield from groups.items()
    grouped = {task for tasks in groups.values() for task in tasks}
    yield from ((task, [task]) for task in run.records if task not in grouped)


def entries_of(runs: Sequence[Run], only: str = "") -> dict[str, list[tuple[Run, Sequence[str]]]]:
    """For each task or group that runs hold: the runs that hold it, each with its tasks.

    Raises:
        InputError: where no run holds `only`, the one task or group wanted; all of them if it is empty.
    """
    entries: defaultdict[str, list[tuple[Run, Sequence[str]]]] = defaultdict(list)
    for run in runs:
        for name, tasks in parts_of(run):
            entries[name].append((run, tasks))
    if only and only not in entries:
        raise InputError(f"Expected a task or group of these runs, any of {', '.join(entries)}, but got {only}.")
    return {only: entries[only]} if only else dict(entries)
