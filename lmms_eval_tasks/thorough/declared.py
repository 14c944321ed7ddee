"""What a benchmark declares: its YAML, hooks, pointers, settings and scores agree. No data is read, nothing graded."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from pydoc import locate
from typing import Any

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.installed.settings import kwargs_for_checks, read_task_settings
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.task_files import file_of, task_configs
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS, Task, check_functions, named_functions
from lmms_eval_tasks.utils.core.blame import blame
from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.submission.parts import tasks_of_part

VERSION = re.compile(r"[1-9]\d*-[A-Z]")


def check_runnable(benchmark: Benchmark) -> Problems:
    """What of a benchmark's tasks would stop a run: functions that cannot be loaded, settings that cannot be read."""
    problems = check_functions(benchmark)
    for name, task in registry().tasks_of(benchmark.name).items():
        _check_settings(task, file_of(benchmark.folder, name), task_configs(benchmark.folder)[name], problems)
    return problems


def check_declared(benchmark: Benchmark) -> Problems:
    """That, and what would give a run scores other than the benchmark means."""
    problems = check_runnable(benchmark)
    if not problems:
        for check in (_check_tasks, _check_kinds, _check_groups, _check_leaderboards, _check_prepare):
            check(benchmark, problems)
    return problems


def _check_tasks(benchmark: Benchmark, problems: Problems) -> None:
    for name, task in registry().tasks_of(benchmark.name).items():
        config, file = task_configs(benchmark.folder)[name], file_of(benchmark.folder, name)
        _check_version(file, task.version, problems)
        (split,) = config["dataset_kwargs"]["data_files"]
        if config.get("test_split") != split:
            found = config.get("test_split")
            problems.add(f"{file}, test_split", f"Expected {split}, as data_files names it, but got {found}.")
        _check_scores(task, file, config, problems)
        for what, function in named_functions(config).items():
            _check_home(benchmark, f"{file}, {what}", function, problems)


def _check_scores(task: Task, file: str, config: Mapping[str, Any], problems: Problems) -> None:
    for entry in config["metric_list"]:
        if others := sorted(set(entry) - {"metric", "aggregation"}):
            what = f"Expected metric and aggregation of {entry['metric']}, but got {', '.join(others)} too."
            problems.add(f"{file}, metric_list", what)
    takes = task.benchmark.submission is not None and not task.kind.no_submission
    if takes != (SUBMISSION_ROWS in task.metrics):
        why = "a leaderboard takes it" if takes else "no leaderboard takes it"
        wanted, got = (SUBMISSION_ROWS, "none") if takes else (f"no {SUBMISSION_ROWS}", "it")
        problems.add(f"{file}, metric_list", f"Expected {wanted}, because {why}, but got {got}.")


def _check_home(benchmark: Benchmark, where: str, function: str, problems: Problems) -> None:
    """A hook is of the module beside the YAML, which says what it offers."""
    found = importlib.import_module(function.rpartition(".")[0])
    if Path(str(found.__file__)) != benchmark.folder / "hooks.py" or not inspect.isfunction(locate(function)):
        problems.add(where, f"Expected a function of {benchmark.folder.name}.hooks, beside it, but got {function}.")


def _check_settings(task: Task, file: str, config: Mapping[str, Any], problems: Problems) -> None:
    for model, settings in (config.get("lmms_eval_specific_kwargs") or {"default": {}}).items():
        try:
            kwargs = kwargs_for_checks(task.benchmark, settings or {})
            read_task_settings(task.benchmark, task.kind, kwargs, os.environ)
        except Exception as error:  # whatever a benchmark's own reader raises
            where = f"{file}, lmms_eval_specific_kwargs of {model}"
            problems.add(
                where, f"Expected settings that can be read, but got this: {blame(error, task.benchmark.folder)}"
            )


def _check_kinds(benchmark: Benchmark, problems: Problems) -> None:
    tasks = registry().tasks_of(benchmark.name).values()
    for kind, found in benchmark.kinds.items():
        where = f"kinds, {kind}"
        own = [task for task in tasks if task.kind is found]
        if not own:
            named = ", ".join(sorted({str(task.pointer.get("kind", next(iter(benchmark.kinds)))) for task in tasks}))
            what = f"Expected a task whose pointer names {kind}, but those of {benchmark.folder} name {named}."
            problems.add(where, what)
            continue
        names = [metric.name for metric in found.metrics]
        for name in sorted({name for name in names if names.count(name) > 1 or name == SUBMISSION_ROWS}):
            problems.add(f"{where}, metrics", f"Expected each score once, but got {name} more often.")
        listed = {name for task in own for name in task.metrics}
        if unlisted := sorted(set(names) - listed):
            files = ", ".join(file_of(benchmark.folder, task.name) for task in own)
            what = f"Expected each score in the metric_list of {files}, but these are not: {', '.join(unlisted)}."
            problems.add(f"{where}, metrics", what)


def _check_leaderboards(benchmark: Benchmark, problems: Problems) -> None:
    own = registry().tasks_of(benchmark.name)
    for leaderboard, keys in benchmark.card.leaderboards.items():
        for split in keys:
            if benchmark.submission and not tasks_of_part(own, split, benchmark.submission.parts[0]):
                what = f"Expected a task of split {split} that a leaderboard takes, but there is none."
                problems.add(f"card, leaderboards, {leaderboard}", what)


def _check_groups(benchmark: Benchmark, problems: Problems) -> None:
    own = registry().tasks_of(benchmark.name)
    for name, (members, version) in registry().groups.items():
        if not own.keys() >= set(members):
            continue
        file = file_of(benchmark.folder, name)
        _check_version(file, version, problems)
        if other := sorted({own[member].version for member in members} - {version}):
            what = f"Expected the version of its tasks, {', '.join(other)}, but got {version}."
            problems.add(f"{file}, metadata.version", what)
        for entry in task_configs(benchmark.folder)[name].get("aggregate_metric_list", ()):
            if set(entry) != {"metric"}:
                what = f"Expected metric alone, but got {', '.join(sorted(entry))}."
                problems.add(f"{file}, aggregate_metric_list", what)


def _check_version(file: str, version: str, problems: Problems) -> None:
    if not VERSION.fullmatch(version):
        problems.add(f"{file}, metadata.version", f"Expected a version N-X, such as 2-A, but got {version!r}.")


def _check_prepare(benchmark: Benchmark, problems: Problems) -> None:
    for name in ("replace", "sample"):
        if name in inspect.signature(benchmark.prepare).parameters:
            what = f"Expected parameters of its own, but got {name}, which this package takes care of."
            problems.add("prepare", what)
