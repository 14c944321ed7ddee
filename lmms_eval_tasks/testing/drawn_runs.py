"""Runs of drawn records, in the form that lmms-eval leaves, and a check that tables and pages can show them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.page import build_sections
from lmms_eval_tasks.report.page_files import ClipShelf
from lmms_eval_tasks.report.page_items import task_block
from lmms_eval_tasks.report.score_tables import columns_of, score_tables, stratum_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.run_files import DATA_SET
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import Record

SIZES = (2, 2, 2, 1, 3)
GROUPS = 25
STAMP = "20261121"


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


def finish(folder: Path, name: str, view: str, records: Mapping[str, Sequence[Record]]) -> Run:
    """A run of a task or group, in the form in which lmms-eval leaves it, as it is read back."""
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
    data_set = DataSet(kind=SetKind.SAMPLE).model_dump(mode="json")
    for task in members:
        (kind,) = [name for name, kind in task.benchmark.kinds.items() if kind is task.kind]
        drawn = _draw(task.name, view, records[kind])
        lines = (json.dumps({"record": {**record.to_json(), DATA_SET: data_set}}) for record in drawn)
        log = folder / f"{STAMP}_samples_{task.name}.jsonl"
        log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return read_run(folder)


def _draw(task: str, view: str, records: Sequence[Record]) -> list[Record]:
    """Groups of one to three records, always the same for a task."""
    rng = random.Random(task)
    return [
        replace(record, item_id=f"{group}_{member}", group_id=str(group), view=view)
        for group in range(GROUPS)
        for member, record in enumerate(rng.choices(records, k=rng.choice(SIZES)))
    ]


def check_shown(run: Run, name: str) -> None:
    """Check that the table of a task, group or view has a score of its kind, each as the kind defines it, and that all
    tables and the page can be made of its records, with the benchmark's own columns, panels and views of items.
    """
    metrics = {metric.name: metric for metric in registry().find_members(name)[0].kind.metrics}
    own = [column.metric for column in columns_of(name) if column.metric and column.metric.name in metrics]
    if not own:
        raise InputError("Expected a column with a score of its kind, but got none.")
    if others := [metric.name for metric in own if metric != metrics[metric.name]]:
        raise InputError(f"Expected columns with the scores of its kind, but got others called {', '.join(others)}.")
    score_tables([run], name)
    for column in next(iter(run.records.values()))[0].stratum:
        stratum_tables(run, [column], name)
    build_sections([run], name)
    for task in run.records:
        task_block(task, [(0, run)], ClipShelf())
