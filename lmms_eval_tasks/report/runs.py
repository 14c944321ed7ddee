"""The tasks and groups that runs hold, and how their benchmark shows each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lmms_eval_tasks.installed.parts import metrics_of, parts_of, references_of
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.columns import Column, usual_columns
from lmms_eval_tasks.utils.runs.run import Run


def columns_of(task: str) -> tuple[Column, ...]:
    """The columns of a task or group; those of pairs for a task of no benchmark."""
    known = registry().find_task(task)
    if known and known.kind.columns:
        return known.kind.columns
    return usual_columns(metrics_of(task), [reference.metric for reference in references_of(task, task, 0)])


def versions_of(name: str, entries: Sequence[tuple[Run, Sequence[str]]]) -> str:
    """The versions of a task or group in the runs that hold it."""
    return ", ".join(sorted({run.versions.get(name, "?") for run, _ in entries}))


def entries_of(runs: Sequence[Run], only: str = "") -> dict[str, list[tuple[Run, Sequence[str]]]]:
    """For each task or group that runs hold: the runs that hold it, each with its tasks."""
    entries: defaultdict[str, list[tuple[Run, Sequence[str]]]] = defaultdict(list)
    for run in runs:
        parts = dict(parts_of(run))
        if only in run.records:
            parts.setdefault(only, [only])
        for name, tasks in parts.items():
            entries[name].append((run, tasks))
    if only and only not in entries:
        raise InputError(f"Expected a task or group of these runs, any of {', '.join(entries)}, but got {only}.")
    return {only: entries[only]} if only else dict(entries)
