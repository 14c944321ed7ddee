"""The benchmarks of this installation: ours, and those that other packages announce.

Another package announces a benchmark by an entry point of the group ``lmms_eval_tasks.benchmarks`` that names its
`Benchmark`. One that cannot be used is left out and reported, and the others work.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskKind
from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.benchmark.task_files import HOOKS, task_configs
from lmms_eval_tasks.utils.benchmark.views import View, name_view, split_name
from lmms_eval_tasks.utils.core.announced import announced, describe_fault
from lmms_eval_tasks.utils.core.problems import InputError

GROUP = "lmms_eval_tasks.benchmarks"


@dataclass(frozen=True)
class Task:
    """One task of a benchmark.

    Attributes:
        name: As lmms-eval knows it.
        benchmark: The benchmark.
        pointer: What of the benchmark it asks: ``benchmark``, ``split``, and where it is not all of that ``subset``,
            ``kind`` and ``view``.
        version: N-X; N moves when its scores stop being comparable.
        metrics: Names of the scores that it prints.
    """

    name: str
    benchmark: Benchmark
    pointer: Mapping[str, Any]
    version: str
    metrics: tuple[str, ...]

    @property
    def kind(self) -> TaskKind:
        """How it works."""
        return self.benchmark.kind_of(self.pointer)

    @property
    def split(self) -> str:
        """The split that it asks."""
        return str(self.pointer["split"])

    @property
    def view(self) -> str:
        """Name of the view that it shows; empty for the whole item."""
        return str(self.pointer.get("view", ""))

    @property
    def no_submission(self) -> str:
        """Why no leaderboard takes it, where its benchmark has a form all the same; empty where one does."""
        if self.view:
            return "it shows a view of its items, and a leaderboard takes answers to the whole ones."
        return self.kind.no_submission

    def seen_as(self, view: View) -> Task:
        """A view of this task."""
        name, pointer = name_view(self.name, view.name), {**self.pointer, "view": view.name}
        return replace(self, name=name, pointer=pointer)


@dataclass(frozen=True)
class Registry:
    """All benchmarks that can be used, and what is wrong with the others.

    Attributes:
        benchmarks: Name to benchmark, ours first, in alphabetical order.
        tasks: Task name to task, without views.
        groups: Group name to its tasks' names and its version, without views.
        faults: A sentence for each benchmark that cannot be used.
    """

    benchmarks: Mapping[str, Benchmark]
    tasks: Mapping[str, Task]
    groups: Mapping[str, tuple[tuple[str, ...], str]]
    faults: tuple[str, ...] = ()

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

    def tasks_of(self, benchmark: str) -> dict[str, Task]:
        """The tasks of a benchmark by name."""
        return {name: task for name, task in self.tasks.items() if task.benchmark.name == benchmark}

    def find_members(self, name: str) -> list[Task]:
        """A task, or the tasks of a group, by a name that may end in a view; none for a task of no benchmark."""
        members, _ = self.groups.get(name, ((name,), ""))
        if members[0] in self.tasks:
            return [self.tasks[member] for member in members]
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
        return self.versions.get(self.find_parent(name))

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
    groups: dict[str, tuple[tuple[str, ...], str]] = {}
    faults = []

    def add(benchmark: Benchmark) -> None:
        if benchmark.name in benchmarks:
            raise ValueError(f"the name {benchmark.name} is taken")
        own_tasks, own_groups = _read_tasks(benchmark)
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


def _read_tasks(benchmark: Benchmark) -> tuple[dict[str, Task], dict[str, tuple[tuple[str, ...], str]]]:
    """Tasks and groups of a benchmark, from its YAML files.

    Raises:
        OSError, ValueError, LookupError, TypeError: where a file or a pointer cannot be used.
    """
    tasks, groups = {}, {}
    for name, config in task_configs(benchmark.folder).items():
        version = str(config["metadata"]["version"])
        if "group" in config:
            groups[name] = (tuple(config["task"]), version)
            continue
        pointer = read_pointer(benchmark.folder, config)
        if pointer is None or pointer.get("benchmark") != benchmark.name:
            raise ValueError(f"the task {name} has no pointer file that names {benchmark.name}")
        nameless = [hook for hook in HOOKS if not config.get(hook)]
        nameless += [entry["metric"] for entry in config["metric_list"] if not entry.get("aggregation")]
        if nameless:
            raise ValueError(f"the task {name} names no function for {', '.join(nameless)}")
        metrics = tuple(entry["metric"] for entry in config["metric_list"])
        tasks[name] = Task(name, benchmark, pointer, version, metrics)
        benchmark.kind_of(pointer)
    return tasks, groups


def read_pointer(folder: Path, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The pointer that a task's configuration in a folder names; None where its data is no pointer of ours."""
    files = ((config.get("dataset_kwargs") or {}).get("data_files") or {}) if isinstance(config, Mapping) else {}
    for file in files.values() if isinstance(files, Mapping) else ():
        try:
            pointer = json.loads((folder / str(file)).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(pointer, dict) and "benchmark" in pointer:
            return pointer
    return None


def find_benchmark(name: str) -> Benchmark:
    """A benchmark by its name.

    Raises:
        InputError: no benchmark of this installation has that name.
    """
    known = registry().benchmarks
    if name not in known:
        lines = [f"Expected a benchmark, one of {', '.join(known)}, but got {name!r}.", *registry().faults]
        raise InputError("\n".join(lines))
    return known[name]


def read_card(name: str) -> Card:
    """The card of a benchmark.

    Raises:
        InputError: no benchmark of this installation has that name.
    """
    return find_benchmark(name).card
