"""What a file of a benchmark's submission is made of: its tasks, and their prepared table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.benchmark.tasks import Task
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.submission.form import Pointing, Table


def tasks_of_part(tasks: Mapping[str, Task], split: str, part: str) -> dict[str, Task]:
    """The tasks, by name, whose items make a part of a submission, among all tasks of its benchmark."""
    submitted = {name: task for name, task in tasks.items() if task.split == split and not task.no_submission}

    def of_subset(subset: str | None) -> dict[str, Task]:
        return {name: task for name, task in submitted.items() if task.pointer.get("subset") == subset}

    return of_subset(part) or of_subset(None) or submitted


def read_prepared(card: Card, split: str, tasks: Iterable[Pointing] = ()) -> Table:
    """The prepared table of a split, or of it the rows that some of its tasks ask."""
    arrow, manifest = read_table(card, split)
    subsets = {task.pointer.get("subset") for task in tasks}
    if subsets and None not in subsets:
        import pyarrow as pa
        import pyarrow.compute as pc

        arrow = arrow.filter(pc.is_in(arrow["subset"], pa.array(sorted(map(str, subsets)))))
    return Table(split, arrow.to_pylist(), manifest.data_set)
