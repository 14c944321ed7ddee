"""Runs of a benchmark's tasks as lmms-eval leaves them, of drawn records, and what lmms-eval has of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lmms_eval_tasks.host.hooks import bind_hooks
from lmms_eval_tasks.host.state import TaskState, find_metrics
from lmms_eval_tasks.installed.parts import comparable_parts
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.thorough.graded import SteadyEvaluation
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS, Task
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring.metrics import Metric, aggregate_tasks
from lmms_eval_tasks.utils.scoring.records import Record

Score = float | int | None
Parts = Mapping[str, Sequence[Record]]
SIZES = (2, 2, 2, 1, 3)
GROUPS = 25
STAMP = "20261121"


@dataclass(frozen=True)
class Finished:
    """A run as it is read back, and what lmms-eval has of it."""

    run: Run
    name: str
    host: Mapping[str, Mapping[str, Score]]

    @property
    def parts(self) -> Parts:
        """Task to its records."""
        return comparable_parts(self.run)[self.name]

    @property
    def metrics(self) -> dict[str, Metric]:
        """The scores of the task or group."""
        return {metric.name: metric for metric in registry().find_members(self.name)[0].kind.metrics}


def every_name(benchmark: str) -> Iterator[tuple[str, str]]:
    """Tasks and groups of a benchmark, and views; of each kind, all views of the first task and of the first group."""
    own = registry().tasks_of(benchmark)
    groups = [
        name
        for name, (members, _) in registry().groups.items()
        if members[0] in own and len({id(own[member].kind) for member in members}) == 1
    ]
    for names in (list(own), groups):
        kinds = set()
        for name in names:
            kind = registry().find_members(name)[0].kind
            yield from ((name, view) for view in ("", *(kind.views if id(kind) not in kinds else ())))
            kinds.add(id(kind))


def finish(folder: Path, name: str, view: str, records: Mapping[str, Sequence[Record]]) -> Finished:
    """A run of a task or group, in the form in which lmms-eval leaves it."""
    members = registry().find_members(name_view(name, view))
    tasks = [task.name for task in members]
    groups = {name_view(name, view): tasks} if name in registry().groups else {}
    folder.mkdir()
    results = {
        "configs": {task: {} for task in tasks},
        "group_subtasks": groups,
        "versions": dict.fromkeys([*tasks, *groups], "1-A"),
        "config": {"model": folder.name, "model_args": ""},
    }
    (folder / f"{STAMP}_results.json").write_text(json.dumps(results), encoding="utf-8")
    host: dict[str, dict[str, Score]] = {}
    for task in members:
        (kind,) = [name for name, kind in task.benchmark.kinds.items() if kind is task.kind]
        host[task.name] = _log(folder, task, _draw(task.name, view, records[kind]))
    for group in groups:
        host[group] = dict(_group_scores(name, [host[task] for task in tasks]))
    return Finished(read_run(folder), name_view(name, view), host)


def _draw(task: str, view: str, records: Sequence[Record]) -> list[Record]:
    """Groups of one to three records, always the same for a task."""
    rng = random.Random(task)
    return [
        replace(record, item_id=f"{group}_{member}", group_id=str(group), view=view)
        for group in range(GROUPS)
        for member, record in enumerate(rng.choices(records, k=rng.choice(SIZES)))
    ]


def _log(folder: Path, task: Task, records: Sequence[Record]) -> dict[str, Score]:
    """Write a task's sample log; the scores that lmms-eval has of it, by the functions that the YAML names."""
    state = TaskState(task.name, task.pointer, task.metrics, SteadyEvaluation(None))
    bound = bind_hooks(task_configs(task.benchmark.folder)[registry().find_parent(task.name)], state)
    gathered = [
        json.loads(json.dumps({"record": record.to_json(), **state.gather(record, True)})) for record in records
    ]
    log = folder / f"{STAMP}_samples_{task.name}.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in gathered), encoding="utf-8")
    return {
        entry["metric"]: entry["aggregation"](items)
        for entry in bound["metric_list"]
        if entry["metric"] != SUBMISSION_ROWS
        and (items := [line[entry["metric"]] for line in gathered if entry["metric"] in line])
    }


def _group_scores(group: str, tasks: Sequence[Mapping[str, Score]]) -> Iterator[tuple[str, Score]]:
    """A group's scores from those that its tasks have, as lmms-eval takes them: a score's name may begin another's."""
    first = registry().find_members(group)[0]
    listed = [str(entry["metric"]) for entry in task_configs(first.benchmark.folder)[group]["aggregate_metric_list"]]
    for metric in find_metrics(group, first.pointer, listed):
        for name in dict.fromkeys(name for scores in tasks for name in scores if metric.name in name):
            yield name, aggregate_tasks(metric, [scores[name] for scores in tasks if name in scores])
