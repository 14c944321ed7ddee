"""A finished run of lmms-eval, as it was read back from its output folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lmms_eval_tasks.utils.benchmark.data_set import UNKNOWN_SET, DataSet
from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.data.filtered import RemovedGroups
from lmms_eval_tasks.utils.runs.results_file import sample_log
from lmms_eval_tasks.utils.runs.run_card import Sections
from lmms_eval_tasks.utils.runs.sample_log import LoggedItem, read_sample_log
from lmms_eval_tasks.utils.runs.series import SeriesValue
from lmms_eval_tasks.utils.runs.shards import Shard
from lmms_eval_tasks.utils.scoring.log_forms import LogLine
from lmms_eval_tasks.utils.scoring.records import Record


@dataclass(frozen=True)
class Run:
    """A finished run, as `read_run` gives it.

    Attributes:
        path: The results file.
        name: The model, with its arguments' checkpoint where it has one.
        records: Task of ours to its records, in the sample log's order; other people's tasks are left out.
        groups: Group name to its tasks, for groups whose tasks are all in the run.
        versions: Task name to the task's version.
        sets: Task to what its set is; of a run of an earlier version only whether it is sample data is known.
        limited: The command line's options that leave items out, such as ``--limit 3``; empty where there is none.
        shard: Which part of a run it is; None of a whole run.
        card: What the run was made with; empty for a run of a version that wrote no card.
        only_predicted: Whether its answers were kept and not scored, by ``--predict_only``.
        logged: Task to how many of its items were logged, and of how many, for tasks that lack items because the run
            was cut short.
        notes: What else lies in the folder, as sentences.
        forms: Task to the form of its logged lines, for tasks that have one of their own.
        label: What a report calls it, where that is not its model alone.
        series: Where it stands in a series of runs; None where it is in none.
    """

    path: Path
    name: str
    records: Mapping[str, tuple[Record, ...]]
    groups: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, str]
    sets: Mapping[str, DataSet] = field(default_factory=dict)
    limited: str = ""
    shard: Shard | None = None
    card: Sections = field(default_factory=dict)
    only_predicted: bool = False
    logged: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    forms: Mapping[str, type[LogLine]] = field(default_factory=dict)
    label: str = ""
    series: SeriesValue | None = None

    @property
    def title(self) -> str:
        """What a report calls it."""
        return self.label or self.name

    def set_of(self, task: str) -> DataSet:
        """What the set of a task is."""
        return self.sets.get(task, UNKNOWN_SET)

    def apart(self, tasks: Iterable[str]) -> str:
        """Why no published score stands beside those of some tasks; empty of all items of the official release."""
        sets = dict.fromkeys(self.set_of(task).apart for task in tasks)
        return ", ".join(filter(None, (*sets, self.limited, "cut short" if self.logged else "")))

    def without(self, removed: RemovedGroups) -> Run | None:
        """The run without the groups that a filter removed; None where it has none of them."""
        kept: dict[str, tuple[Record, ...]] = {}
        for task, records in self.records.items():
            name = task.removesuffix(f"_{records[0].view}") if records and records[0].view else task
            groups = removed.by_task.get(name, frozenset())
            kept[task] = tuple(record for record in records if record.group_id not in groups)
        items = sum(len(records) - len(kept[task]) for task, records in self.records.items())
        if not items:
            return None
        limited = ", ".join(filter(None, (self.limited, f"{items:,} items left out ({removed.name})")))
        return replace(self, records=kept, limited=limited, label=f"{self.title}, filtered")

    @property
    def incomplete(self) -> str:
        """What is lacking of a run that was cut short; empty of a whole one."""
        return ", ".join(map(self.part_of, self.logged))

    def part_of(self, task: str) -> str:
        """How many items of a task that lacks some were logged, and of how many."""
        there, number = self.logged[task]
        return f"{there:,} of {number:,} items of {task}"

    def items_of(self, task: str) -> tuple[LoggedItem, ...]:
        """The lines of one of its tasks, read again."""
        problems = Problems()
        log = read_sample_log(sample_log(self.path, task), self.forms.get(task, LogLine), problems)
        problems.raise_if_any(f"{self.path} cannot be read")
        kept = {record.item_id for record in self.records.get(task, ())}
        return tuple(item for item in log.items if item.record.item_id in kept) if log else ()
