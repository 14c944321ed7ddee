"""Tasks and groups of a benchmark, read from its YAML files without lmms-eval and checked against its declarations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import isfunction
from pathlib import Path
from pydoc import ErrorDuringImport, locate
from typing import Annotated, Any

import yaml
from pydantic import ConfigDict, Field

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, Task
from lmms_eval_tasks.utils.core.errors import Problems, blame
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.forms import RowForm, read_object, validate_value
from lmms_eval_tasks.utils.core.text import describe

LARGEST_CONFIG = 1 << 20
"""Bytes of a file of a task's configuration or of a prompt."""
HOOKS = ("process_docs", "doc_to_visual", "doc_to_text", "doc_to_target", "process_results")
"""Where a task's configuration names its hooks, beside the aggregation of each score."""
SUBMISSION_ROWS = "submission_rows"
"""The score of a task that is how many rows its submission file has; the file is written when it is aggregated."""
RECORD = "record"
"""Where an item's log line has its record."""

Groups = dict[str, tuple[tuple[str, ...], str]]
"""Group name to its tasks' names and its version."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # ten times faster, where there is one
    """Reads ``!function a.b.c`` as the text ``a.b.c``; nothing is imported."""


_Loader.add_constructor("!function", lambda _, node: str(node.value))


def read_task_file(path: Path) -> dict[str, Any]:
    """The configuration in a task's or template's file, what it includes merged in as lmms-eval does."""
    with open_regular(path) as file:
        content = file.read(LARGEST_CONFIG + 1)
    if len(content) > LARGEST_CONFIG:
        raise ValueError(f"Expected {path} to have at most {LARGEST_CONFIG:,} bytes.")
    config = yaml.load(content.decode("utf-8"), Loader=_Loader)
    if not isinstance(config, dict):
        raise ValueError(f"Expected {path} to hold a mapping, but got {type(config).__name__}.")
    included = config.pop("include", [])
    merged: dict[str, Any] = {}
    for name in reversed([included] if isinstance(included, str) else included):
        merged.update(read_task_file(path.parent / name))
    return {**merged, **config}


def read_closing(path: Path) -> str:
    """The instruction that a template's prompts end with: ``lmms_eval_specific_kwargs.default.post_prompt``.

    Args:
        path: A task's or template's YAML file, as lmms-eval reads it; no function that it names is imported.

    Raises:
        OSError: where the file, or one that it includes, cannot be read.
        LookupError: where it has no such setting.
        TypeError: where there is something else in the setting's place.
        ValueError: where it is no YAML, or the setting is no text.
    """
    try:
        closing = read_task_file(path)["lmms_eval_specific_kwargs"]["default"]["post_prompt"]
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from error
    except RecursionError:
        raise ValueError("values nested too deeply, or files that include each other") from None
    if not isinstance(closing, str):
        raise ValueError(f"post_prompt is {closing!r}")
    return closing


_installed_file = cache(read_task_file)


@cache
def _files(folder: Path) -> Mapping[str, Path]:
    configs = {path: _installed_file(path) for path in sorted(folder.glob("*.yaml"))}
    return {config.get("group") or config["task"]: path for path, config in configs.items()}


def file_of(folder: Path, name: str) -> str:
    return _files(folder)[name].name


@cache
def task_configs(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Name to configuration of every task and group in a folder, in the files' alphabetical order."""
    return {name: _installed_file(path) for name, path in _files(folder).items()}


class _Open(RowForm):
    """Base of the parts of a configuration, which has fields of lmms-eval's beside ours."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class _Score(_Open):
    metric: str
    aggregation: str


class _GroupScore(_Open):
    metric: str


class _Metadata(_Open):
    version: str | int | float


class _Data(_Open):
    data_files: Annotated[dict[str, str], Field(min_length=1, max_length=1)]


class _TaskFile(_Open):
    """A task's configuration, its template merged in; `HOOKS` are its hooks."""

    task: str
    dataset_kwargs: _Data
    process_docs: str
    doc_to_visual: str
    doc_to_text: str
    doc_to_target: str
    process_results: str
    metric_list: list[_Score]
    metadata: _Metadata


class _GroupFile(_Open):
    group: str
    task: list[str]
    aggregate_metric_list: Annotated[list[_GroupScore], Field(default_factory=list)]
    metadata: _Metadata


class _Pointer(RowForm):
    benchmark: str
    split: str
    subset: str | None = None
    kind: str | None = None


def read_tasks(benchmark: Benchmark) -> tuple[dict[str, Task], Groups]:
    problems = Problems()
    tasks: dict[str, Task] = {}
    groups: dict[str, _GroupFile] = {}
    for path in sorted(benchmark.folder.glob("*.yaml")):
        try:
            config = _installed_file(path)
        except (OSError, yaml.YAMLError, ValueError) as error:
            problems.add(path.name, f"Expected a task's configuration in YAML, but got this: {error}")
            continue
        except RecursionError:
            problems.add(path.name, "Expected files that do not include each other, but they do.")
            continue
        issues = Problems()
        found = validate_value(config, _GroupFile if "group" in config else _TaskFile, issues, "")
        problems.extend(issues, f"{path.name}, ")
        if isinstance(found, _GroupFile):
            groups[path.name] = found
        elif isinstance(found, _TaskFile) and (task := _check_task(benchmark, path.name, found, problems)):
            tasks[task.name] = task
    if not problems:
        for file, group in groups.items():
            _check_group(file, group, tasks, problems)
    problems.raise_if_any(f"The tasks of {benchmark.name}, in {benchmark.folder}, cannot be used")
    return tasks, {one.group: (tuple(one.task), str(one.metadata.version)) for one in groups.values()}


def _check_task(benchmark: Benchmark, file: str, config: _TaskFile, problems: Problems) -> Task | None:
    """The task of a valid configuration; None, with every fault noted, where its pointer or its scores are wrong."""
    before = len(problems)
    pointer = _check_pointer(benchmark, file, next(iter(config.dataset_kwargs.data_files.values())), problems)
    if pointer is None:
        return None
    metrics = tuple(entry.metric for entry in config.metric_list)
    known = {metric.name for metric in benchmark.kind_of(pointer).metrics} | {SUBMISSION_ROWS}
    for name in metrics:
        if name not in known:
            problems.add(f"{file}, metric_list", _one_of(known, name))
        elif metrics.count(name) > 1:
            problems.add(f"{file}, metric_list", f"Expected each score once, but got {name} more often.")
    if len(problems) > before:
        return None
    return Task(config.task, benchmark, pointer, str(config.metadata.version), metrics)


def _check_pointer(benchmark: Benchmark, file: str, named: str, problems: Problems) -> dict[str, Any] | None:
    issues, before = Problems(), len(problems)
    try:
        found = read_object(benchmark.folder / named, _Pointer, issues)
    except OSError as error:
        there = sorted(
            path.relative_to(benchmark.folder).as_posix() for path in benchmark.folder.glob("pointers/*.json")
        )
        offered = f" Files there: {', '.join(there)}." if there else ""
        what = f"Expected a pointer file, but {named} cannot be read: {error.strerror}.{offered}"
        problems.add(f"{file}, data_files", what)
        return None
    problems.extend(issues, f"{named}, ")
    if found is None:
        return None
    for field, value, allowed in (
        ("benchmark", found.benchmark, {benchmark.name}),
        ("split", found.split, set(benchmark.card.splits)),
        ("kind", found.kind or next(iter(benchmark.kinds)), set(benchmark.kinds)),
    ):
        if value not in allowed:
            problems.add(f"{named}, {field}", _one_of(allowed, value))
    return found.model_dump(exclude_none=True) if len(problems) == before else None


def _check_group(file: str, group: _GroupFile, tasks: Mapping[str, Task], problems: Problems) -> None:
    if unknown := [name for name in group.task if name not in tasks]:
        problems.add(f"{file}, task", f"Expected tasks of this folder, but got {', '.join(unknown)}.")
        return
    for entry in group.aggregate_metric_list:
        if lacking := [name for name in group.task if entry.metric not in tasks[name].metrics]:
            where = f"{file}, aggregate_metric_list"
            problems.add(where, f"Expected a score of each task, but {', '.join(lacking)} lists no {entry.metric}.")


def _one_of(allowed: set[str], value: object) -> str:
    return f"Expected one of {', '.join(sorted(allowed))}, but got {describe(value)}."


def check_functions(benchmark: Benchmark, shared: str) -> Problems:
    """A problem for each function that a task of a valid folder names and that cannot be loaded; `shared` is the module
    of the shared hooks."""
    problems = Problems()
    for name, config in task_configs(benchmark.folder).items():
        file = file_of(benchmark.folder, name)
        for what, function in named_functions(config).items():
            try:
                found = locate(function)
            except ErrorDuringImport as error:
                why = blame(error.value, benchmark.folder) if isinstance(error.value, BaseException) else error.value
                problems.add(f"{file}, {what}", f"Expected a function, but importing {function} fails: {why}.")
                continue
            if not callable(found):
                path, _, called = function.rpartition(".")
                module = locate(path)
                if module is None:
                    usual = f"{shared}.{what if what in HOOKS else 'aggregate'}"
                    why = f"there is no module {path}. Without a hook of your own name {usual}."
                    problems.add(f"{file}, {what}", why)
                    continue
                functions = (name for name, value in vars(module).items() if isfunction(value) and name[0] != "_")
                offered = ", ".join(getattr(module, "__all__", sorted(functions))) or "no function"
                problems.add(f"{file}, {what}", f"{path} has no function {called}; it has {offered}.")
    return problems


def named_functions(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the dotted name of each function that a task's configuration names, by its use as a hook or as a score's
    aggregation."""
    named = {hook: config[hook] for hook in HOOKS if hook in config}
    scores = config.get("metric_list", ())
    return named | {f"aggregation of {entry['metric']}": entry["aggregation"] for entry in scores}


def tasks_of_part(tasks: Mapping[str, Task], split: str, part: str) -> dict[str, Task]:
    """The tasks, by name, whose items make a part of a submission, among all tasks of its benchmark."""
    submitted = {name: task for name, task in tasks.items() if task.split == split and not task.no_submission}

    def of_subset(subset: str | None) -> dict[str, Task]:
        return {name: task for name, task in submitted.items() if task.pointer.get("subset") == subset}

    return of_subset(part) or of_subset(None) or submitted
