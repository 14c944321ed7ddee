"""The benchmarks of this installation: ours, and those that other packages announce."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.benchmark.leaderboards import LeaderboardPlace, check_leaderboards, places_by_leaderboard
from lmms_eval_tasks.utils.benchmark.tasks import Groups, Task, read_tasks
from lmms_eval_tasks.utils.benchmark.views import split_name
from lmms_eval_tasks.utils.core.announced import announced, begin_fault, describe_fault
from lmms_eval_tasks.utils.core.problems import InputError

GROUP = "lmms_eval_tasks.benchmarks"


@dataclass(frozen=True)
class Registry:
    """All benchmarks that can be used, and what is wrong with the others."""

    benchmarks: Mapping[str, Benchmark]
    tasks: Mapping[str, Task]
    groups: Groups
    faults: tuple[str, ...] = ()
    derived: dict[str, Task] = field(default_factory=dict)

    @property
    def versions(self) -> dict[str, str]:
        """Version of every task and group."""
        return {
            **{name: task.version for name, task in self.tasks.items()},
            **{name: version for name, (_, version) in self.groups.items()},
        }

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that single benchmarks read."""
        return tuple(dict.fromkeys(name for benchmark in self.benchmarks.values() for name in benchmark.variables))

    @property
    def leaderboards(self) -> dict[str, tuple[LeaderboardPlace, ...]]:
        """Each leaderboard of several benchmarks, with what it takes."""
        return places_by_leaderboard(self.benchmarks.values())

    def derive(self, name: str, pointer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Know a user's variant of a task by its name, its pointer and its configuration."""
        benchmark = self.benchmarks.get(pointer.get("benchmark", ""))
        if name not in self.derived and self.find_task(name):
            return
        if benchmark is None or pointer.get("kind", "") not in ("", *benchmark.kinds):
            return
        own = next(task for task in self.tasks_of(benchmark.name).values() if task.kind is benchmark.kind_of(pointer))
        metrics = tuple(entry["metric"] for entry in config["metric_list"])
        self.derived[name] = replace(own, name=name, pointer=pointer, metrics=metrics, config=config)

    def tasks_of(self, benchmark: str) -> dict[str, Task]:
        """The tasks of a benchmark by name."""
        return {name: task for name, task in self.tasks.items() if task.benchmark.name == benchmark}

    def find_members(self, name: str) -> list[Task]:
        """A task, or the tasks of a group, by a name that may end in a view; none for a task of no benchmark."""
        members, _ = self.groups.get(name, ((name,), ""))
        if members[0] in self.tasks:
            return [self.tasks[member] for member in members]
        if name in self.derived:
            return [self.derived[name]]
        parts = split_name(name)
        if parts is None:
            return []
        parent, view = parts
        tasks = self.find_members(parent)
        offered = all(task.kind.offers(view) and not task.view for task in tasks)
        return [task.seen_as(view) for task in tasks] if offered else []

    def find_task(self, name: str) -> Task | None:
        """A task, or the first one of a group, by a name that may end in a view; None for a task of no benchmark."""
        return next(iter(self.find_members(name)), None)

    def find_version(self, name: str) -> str | None:
        """The version of a task or group, by a name that may end in a view; None where it is of no benchmark."""
        derived = self.derived.get(self.find_parent(name))
        return derived.version if derived else self.versions.get(self.find_parent(name))

    def find_parent(self, name: str) -> str:
        """The name of a task or group without its view."""
        task = self.find_task(name)
        return name.removesuffix(f"_{task.view}") if task and task.view else name


@cache
def registry() -> Registry:
    """The benchmarks of this installation."""
    return build_registry(_own_benchmarks(), announced(GROUP))


def build_registry(own: Iterable[Benchmark], others: Iterable[EntryPoint]) -> Registry:
    """A registry of our benchmarks and of others' that are announced; what cannot be used is among its faults."""
    benchmarks: dict[str, Benchmark] = {}
    tasks: dict[str, Task] = {}
    groups: Groups = {}
    faults = []

    def add(benchmark: Benchmark) -> None:
        if benchmark.name in benchmarks:
            raise ValueError(f"the name {benchmark.name} is taken")
        check_leaderboards(benchmark, benchmarks.values())
        own_tasks, own_groups = read_tasks(benchmark)
        if taken := [name for name in (*own_tasks, *own_groups) if name in tasks or name in groups]:
            raise ValueError(f"a benchmark before it has tasks of the same name: {', '.join(taken)}")
        benchmarks[benchmark.name] = benchmark
        tasks.update(own_tasks)
        groups.update(own_groups)

    for benchmark in own:
        add(benchmark)
    for entry in sorted(others, key=lambda entry: (entry.name, entry.value)):
        try:
            benchmark = entry.load()
            if not isinstance(benchmark, Benchmark):
                raise TypeError(f"{entry.value} is a {type(benchmark).__name__}, not a Benchmark")
            add(benchmark)
        except Exception as error:  # whatever somebody else's package raises
            faults.append(describe_fault("benchmark", entry, error))
    return Registry(benchmarks, tasks, groups, tuple(faults))


def _own_benchmarks() -> list[Benchmark]:
    folder = Path(lmms_eval_tasks.__file__).parent
    names = sorted(file.parent.name for file in folder.glob("*/benchmark.py"))
    return [importlib.import_module(f"{lmms_eval_tasks.__name__}.{name}.benchmark").BENCHMARK for name in names]


def find_benchmark(name: str) -> Benchmark:
    """A benchmark by its name."""
    known = registry().benchmarks
    if name not in known:
        own = [fault for fault in registry().faults if fault.startswith(f"{begin_fault('benchmark', name)} ")]
        lines = [f"Expected a benchmark, one of {', '.join(known)}, but got {name!r}.", *registry().faults]
        raise InputError("\n".join(own or lines))
    return known[name]


def read_card(name: str) -> Card:
    """The card of a benchmark."""
    return find_benchmark(name).card
