"""The records of one run that make a profile: those of all tasks that show the same of their clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmms_eval_tasks.api import Record, RunRecords
from lmms_eval_tasks.api.runs import Run, read_run
from lmms_eval_tasks.worlds.card import CARD, SUBSETS
from lmms_eval_tasks.worlds.profile import CAUSAL, ModelProfile, profile_of, step_of_record

LEADING = ("counterfactual", "paired", "evidence")
"""The causal tasks; a page shows the profile in the section of the first that the run has."""
CONTROLS = "perception"

Tasks = Mapping[str, Sequence[Record]]
"""Name of a task without its view to its records."""


def tasks_by_view(run: Run) -> dict[str, dict[str, Sequence[Record]]]:
    """The tasks of Worlds that a run holds, by the view of their clips, which is empty for whole ones."""
    found: dict[str, dict[str, Sequence[Record]]] = {}
    for task, records in run.records.items():
        if records and (bare := task.removesuffix(f"_{records[0].view}")) in map(task_name, SUBSETS):
            found.setdefault(records[0].view, {})[bare] = records
    return found


def profiles_of_section(task: str, runs: Sequence[RunRecords]) -> list[ModelProfile]:
    """The profiles that the section of a task shows, of those runs whose first causal task it is."""
    found = []
    for run in runs:
        tasks = _tasks_beside(task, run)
        if task == next(iter(sorted(filter(lambda name: _is_causal(tasks[name]), tasks), key=_order)), ""):
            found.append(profile_of(replace(run, parts=list(tasks.values()))))
    return [one for one in found if one]


def task_name(subset: str) -> str:
    """The name of the task that asks a subset."""
    return f"{CARD.name}_{subset}"


def _tasks_beside(task: str, run: RunRecords) -> Tasks:
    """A task and the others of its run that show the same view."""
    if run.results is None:
        return {task: run.records}
    # The report has read this run already, and said what is odd about it.
    whole = read_run(run.results, allow_incomplete=True, allow_predictions=True)
    return tasks_by_view(whole).get(run.view, {})


def _is_causal(records: Sequence[Record]) -> bool:
    return any(step_of_record(record) in CAUSAL for record in records)


def _order(task: str) -> int:
    names = [*map(task_name, LEADING)]
    return names.index(task) if task in names else len(names)
