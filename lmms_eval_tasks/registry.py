"""The benchmarks of this installation, ours and other packages', with their tasks, groups and prepared sets."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, Task
from lmms_eval_tasks.utils.benchmark.tasks import Groups, read_tasks
from lmms_eval_tasks.utils.benchmark.views import split_name
from lmms_eval_tasks.utils.core.errors import InputError, blame
from lmms_eval_tasks.utils.data import home, prepare
from lmms_eval_tasks.utils.data.card import Card

if TYPE_CHECKING:
    import datasets


GROUP = "lmms_eval_tasks.benchmarks"
_OURS = "lmms-eval-tasks"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Announced(NamedTuple):
    found: Mapping[str, Any]
    faults: tuple[str, ...]


def load_announced(group: str, what: str) -> Announced:
    """Load a group of entry points, ours first; of two of the same name the first is used."""
    found: dict[str, Any] = {}
    faults = []
    for entry in sorted(entry_points(group=group), key=lambda entry: (_package(entry) != _OURS, *_order(entry))):
        try:
            if entry.name in found:
                raise ValueError(f"the name {entry.name} is taken")
            found[entry.name] = entry.load()
        except Exception as error:  # whatever somebody else's package raises
            faults.append(_describe_fault(what, entry, error))
    return Announced(found, tuple(faults))


def _order(entry: EntryPoint) -> tuple[str, str]:
    return entry.name, entry.value


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


def _describe_fault(what: str, entry: EntryPoint, error: Exception) -> str:
    """Describe why an announced object cannot be used, by the text of an `InputError`, or by file, line and error."""
    unusable = f"{_begin_fault(what, entry.name)} {_package(entry)} cannot be used"
    if isinstance(error, InputError):
        return f"{unusable}. The others work. {error}"
    try:
        spec = find_spec(entry.value.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        spec = None
    folder = Path(spec.origin).parent if spec and spec.origin else None
    return f"{unusable} ({blame(error, folder)}). The others work."


def _begin_fault(what: str, name: str) -> str:
    return f"The {what} {name} of the package"


@dataclass(frozen=True)
class LeaderboardPlace:
    key: str
    benchmark: Benchmark
    split: str
    needed: bool


def _places(benchmarks: Iterable[Benchmark]) -> dict[str, tuple[LeaderboardPlace, ...]]:
    """Each leaderboard that a benchmark's card names, with what it takes, in the order of the benchmarks."""
    found: dict[str, tuple[LeaderboardPlace, ...]] = {}
    for benchmark in benchmarks:
        for leaderboard, keys in benchmark.card.leaderboards.items():
            places = (
                LeaderboardPlace(key, benchmark, split, not place) for place, (split, key) in enumerate(keys.items())
            )
            found[leaderboard] = (*found.get(leaderboard, ()), *places)
    return found


def _check_leaderboards(benchmark: Benchmark, others: Mapping[str, Benchmark]) -> None:
    """Refuse a benchmark whose leaderboards cannot take it beside the benchmarks before it."""
    before, own = _places(others.values()), benchmark.card.leaderboards
    faults = ["a leaderboard takes it, but it has no form of submission"] if own and not benchmark.submission else []
    if benchmark.name in before:
        faults.append(f"the name {benchmark.name} is a leaderboard's")
    for leaderboard, keys in own.items():
        taken = {place.key for place in before.get(leaderboard, ())}
        if leaderboard in {*others, benchmark.name}:
            faults.append(f"the leaderboard {leaderboard} has the name of a benchmark")
        faults += [f"{text!r} is no plain name" for text in (leaderboard, *keys.values()) if not _PLAIN.fullmatch(text)]
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
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for benchmark in self.benchmarks.values() for name in benchmark.variables))

    @property
    def leaderboards(self) -> dict[str, tuple[LeaderboardPlace, ...]]:
        return _places(self.benchmarks.values())

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
        return {name: task for name, task in self.tasks.items() if task.benchmark.name == benchmark}

    def find_members(self, name: str) -> list[Task]:
        """A task, or the tasks of a group, by a name that may end in a view; none for a task of no benchmark."""
        members, _ = self.groups.get(name, ((name,), ""))
        if members[0] in self.tasks:
            return [self.tasks[member] for member in members]
        if name in self.derived:
            return [self.derived[name]]
        parent, view = split_name(name) or ("", None)
        if view is None:
            return []
        tasks = self.find_members(parent)
        offered = all(task.kind.offers(view) and not task.view for task in tasks)
        return [task.seen_as(view) for task in tasks] if offered else []

    def find_task(self, name: str) -> Task | None:
        """A task, or the first one of a group, by a name that may end in a view; None for a task of no benchmark."""
        return next(iter(self.find_members(name)), None)

    def find_version(self, name: str) -> str | None:
        """The version of a task or group, by a name that may end in a view; None where it is of no benchmark."""
        parent = self.find_parent(name)
        if parent in self.groups:
            return self.groups[parent][1]
        task = self.derived.get(parent) or self.tasks.get(parent)
        return task.version if task else None

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
        _check_leaderboards(benchmark, benchmarks)
        own_tasks, own_groups = read_tasks(benchmark)
        if taken := [name for name in (*own_tasks, *own_groups) if name in tasks or name in groups]:
            raise ValueError(f"a benchmark before it has tasks of the same name: {', '.join(taken)}")
        benchmarks[benchmark.name] = benchmark
        tasks.update(own_tasks)
        groups.update(own_groups)

    for benchmark in own:
        add(benchmark)
    for entry in sorted(others, key=_order):
        try:
            benchmark = entry.load()
            if not isinstance(benchmark, Benchmark):
                raise TypeError(f"{entry.value} is a {type(benchmark).__name__}, not a Benchmark")
            add(benchmark)
        except Exception as error:  # whatever somebody else's package raises
            faults.append(_describe_fault("benchmark", entry, error))
    return Registry(benchmarks, tasks, groups, tuple(faults))


@cache
def registry() -> Registry:
    """The benchmarks of this installation: those of our folders, and those that packages announce."""
    folders = sorted(file.parent.name for file in Path(lmms_eval_tasks.__file__).parent.glob("*/benchmark.py"))
    modules = (importlib.import_module(f"{lmms_eval_tasks.__name__}.{folder}.benchmark") for folder in folders)
    return build_registry([module.BENCHMARK for module in modules], entry_points(group=GROUP))


def find_benchmark(name: str) -> Benchmark:
    known, faults = registry().benchmarks, registry().faults
    if name not in known:
        own = [fault for fault in faults if fault.startswith(f"{_begin_fault('benchmark', name)} ")]
        raise InputError(
            "\n".join(own or [f"Expected a benchmark, one of {', '.join(known)}, but got {name!r}.", *faults])
        )
    return known[name]


def read_card(name: str) -> Card:
    return find_benchmark(name).card


def load_table(benchmark: str, split: str, require_clips: bool = True) -> datasets.Dataset:
    """The prepared table of a split, rows in their released order, `clip_present` as it is now.

    It has one row per item and the columns of the benchmark's `prepare`.

    Args:
        benchmark: Name of the benchmark.
        split: Name of the split.
        require_clips: Whether clips will be looked at. Where they will not, none is looked for, and `clip_present` is
            what it was when the table was prepared.

    Raises:
        InputError: nothing is prepared; the table is not the one that was prepared; or clips are required, some are
            missing, and $LMMS_EVAL_TASKS_MISSING is not `skip`; or that variable holds anything else.
    """
    return home.load_table(read_card(benchmark), split, require_clips)


@contextmanager
def building(benchmark: str, preparation: prepare.Preparation) -> Iterator[prepare.Build]:
    """Build a benchmark's folder; what was there is replaced only when the block ends without an error.

    The block gets the build. Its ``add_split(split, rows, extra, clips, origin)`` places a split's clips and writes its
    table: ``extra`` has the benchmark's own columns and their types, and ``clips`` every clip that rows name
    (``test/a.mp4``) and its file, which is linked; None, or a file that is not there, is a missing clip. A last
    argument may be `ClipOptions`, of `lmms_eval_tasks.api.release`. Its ``splits`` holds the `SplitManifest` of each
    split that was added. ``preparation`` is what the benchmark's `prepare` got: groups that it removes are left out.

    Splits that the block does not add are kept. Clips of an interrupted build are kept for the next one. One build
    of a benchmark runs at a time; another waits for it.

    Raises:
        InputError: nothing can be written to the data home, or a split cannot be added.
    """
    with prepare.building(read_card(benchmark), preparation) as build:
        yield build
