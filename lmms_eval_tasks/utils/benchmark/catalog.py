"""The catalog of benchmarks, trainers and builders that packages announce by entry points, and shared leaderboards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.tasks import Groups, Task, read_tasks
from lmms_eval_tasks.utils.benchmark.views import split_name
from lmms_eval_tasks.utils.core.errors import InputError, blame

OURS = "lmms-eval-tasks"


class Announced(NamedTuple):
    """Objects loaded from a group of entry points, and the faults of those that failed."""

    found: Mapping[str, Any]
    faults: tuple[str, ...]


def announced(group: str) -> list[EntryPoint]:
    """The entry points of a group, ours first, in alphabetical order."""
    return sorted(entry_points(group=group), key=lambda entry: (_package(entry) != OURS, entry.name, entry.value))


def load_announced(group: str, what: str) -> Announced:
    return load_entries(announced(group), what)


def load_entries(entries: Iterable[EntryPoint], what: str) -> Announced:
    """Load entry points; of two of the same name the first is used."""
    found: dict[str, Any] = {}
    faults = []
    for entry in entries:
        try:
            if entry.name in found:
                raise ValueError(f"the name {entry.name} is taken")
            found[entry.name] = entry.load()
        except Exception as error:  # whatever somebody else's package raises
            faults.append(describe_fault(what, entry, error))
    return Announced(found, tuple(faults))


def describe_fault(what: str, entry: EntryPoint, error: Exception) -> str:
    """Describe why an object that a package announces cannot be used, by the text of an `InputError`, or by file, line
    and error."""
    unusable = f"{begin_fault(what, entry.name)} {_package(entry)} cannot be used"
    if isinstance(error, InputError):
        return f"{unusable}. The others work. {error}"
    return f"{unusable} ({blame(error, _folder(entry))}). The others work."


def begin_fault(what: str, name: str) -> str:
    """Return the beginning of the message about a fault in an announced object."""
    return f"The {what} {name} of the package"


def _folder(entry: EntryPoint) -> Path | None:
    """Return the folder of the code that an entry point names, or None if it is not found."""
    try:
        spec = find_spec(entry.value.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class LeaderboardPlace:
    """Split of a benchmark whose answers a leaderboard accepts."""

    key: str
    benchmark: Benchmark
    split: str
    needed: bool


def places_by_leaderboard(benchmarks: Iterable[Benchmark]) -> dict[str, tuple[LeaderboardPlace, ...]]:
    """Each leaderboard that a benchmark's card names, with what it takes, in the order of the benchmarks."""
    found: dict[str, tuple[LeaderboardPlace, ...]] = {}
    for benchmark in benchmarks:
        for leaderboard, keys in benchmark.card.leaderboards.items():
            places = (
                LeaderboardPlace(key, benchmark, split, not place) for place, (split, key) in enumerate(keys.items())
            )
            found[leaderboard] = (*found.get(leaderboard, ()), *places)
    return found


def check_leaderboards(benchmark: Benchmark, others: Iterable[Benchmark]) -> None:
    """Refuse a benchmark whose leaderboards cannot take it beside the benchmarks before it."""
    others = list(others)
    before, names, own = places_by_leaderboard(others), {one.name for one in others}, benchmark.card.leaderboards
    faults = ["a leaderboard takes it, but it has no form of submission"] if own and not benchmark.submission else []
    if benchmark.name in before:
        faults.append(f"the name {benchmark.name} is a leaderboard's")
    for leaderboard, keys in own.items():
        taken = {place.key for place in before.get(leaderboard, ())}
        if leaderboard in {*names, benchmark.name}:
            faults.append(f"the leaderboard {leaderboard} has the name of a benchmark")
        faults += [f"{text!r} is no plain name" for text in (leaderboard, *keys.values()) if not PLAIN.fullmatch(text)]
        faults += [f"it has no split {split}" for split in keys if split not in benchmark.card.splits]
        repeated = {key for key in keys.values() if key in taken or [*keys.values()].count(key) > 1}
        faults += [f"the key {key} of {leaderboard} is taken" for key in sorted(repeated)]
    if faults:
        raise ValueError("; ".join(faults))


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
