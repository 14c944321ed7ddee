"""lmms-eval's task manager: our tasks in its index, checks of a run before its model is loaded, and hooks of tasks.

The functions `wrap_…` take a method of `TaskManager` and return the one in its place, which does as before for a
manager whose index was built without our tasks.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from loguru import logger

from lmms_eval_tasks.host import checks
from lmms_eval_tasks.host.model.identity import needs_clips
from lmms_eval_tasks.host.ranks import (
    RunStopped,
    called_by,
    command_options,
    end_where_lmms_eval_goes_on,
    on_command_line,
    stop_if_any,
)
from lmms_eval_tasks.host.tasks.foreign_views import bind_view
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState, find_metrics
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.hooks import is_hook, unbound_message
from lmms_eval_tasks.utils.benchmark.benchmark import read_pointer
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS
from lmms_eval_tasks.utils.benchmark.views import listed_as, name_view
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.metrics import aggregate_tasks

VIEW = "view"
"""Where an entry of the index, or a pointer, names a view."""
OURS = "_lmms_eval_tasks"
"""A manager's attribute for the evaluation of its tasks."""
SIZES = "lmms_eval.cli.power_utils"
"""lmms-eval's module that counts the items of tasks."""
Method = Callable[..., Any]


def wrap_initialize_tasks(index_tasks: Method) -> Method:
    """Return `initialize_tasks` with our tasks in the index."""

    @functools.wraps(index_tasks)
    def initialize_tasks(manager: Any, include_path: Any = None, include_defaults: bool = True) -> dict[str, Any]:
        setattr(manager, OURS, Evaluation(clips_needed=needs_clips(getattr(manager, "model_name", None))))
        index: dict[str, Any] = index_tasks(manager, include_path=include_path, include_defaults=include_defaults)
        for benchmark in registry().benchmarks.values() if include_defaults else ():
            # A task of lmms-eval is only replaced where the benchmark says so.
            ours = dict(manager._get_task_and_group(str(benchmark.folder)))
            taken = [name for name in ours if name in index and name not in benchmark.replaces]
            if taken:
                message = "The tasks of {} are left out: lmms-eval has tasks of the same name ({})."
                logger.warning(message, benchmark.name, ", ".join(taken))
            else:
                index = {**index, **_listed_views(ours), **ours}
        return index

    return initialize_tasks


def wrap_match_tasks(match_tasks: Method) -> Method:
    """Return `match_tasks`, which checks the run of the tasks that it matches: lmms-eval loads its model after it."""

    @functools.wraps(match_tasks)
    def match_and_check(manager: Any, task_list: list[str]) -> list[str]:
        if not hasattr(manager, OURS):
            names: list[str] = match_tasks(manager, task_list)
            return names
        add_views(manager, task_list)
        names = match_tasks(manager, task_list)
        members = {name: list(_members(manager.task_index, name)) for name in names}
        check_run(manager, task_list, members)
        if any(called_by(SIZES)):
            # It counts the items of tasks, and passes a group over.
            names = list(dict.fromkeys([*names, *(member for pairs in members.values() for member, _ in pairs)]))
        return names

    return match_and_check


def check_run(
    manager: Any, task_list: Iterable[str], members: Mapping[str, list[tuple[str, dict[str, Any] | None]]]
) -> None:
    """Stop a run on every rank that cannot be, or would not be what was asked for."""
    ours = {name: own for name, pairs in members.items() if (own := [pointer for _, pointer in pairs if pointer])}
    others = [member for pairs in members.values() for member, pointer in pairs if pointer is None]
    evaluation = evaluation_of(manager)
    if on_command_line():
        stop_if_any(checks.describe_unknown(task_list, list(members), manager.all_tasks))
    stop_if_any(checks.describe_unsplit(others, evaluation.splits))
    stop_if_any(checks.describe_shared_limit(command_options().get("limit"), len(others) if ours else 0))
    if not ours:
        return
    benchmarks = registry().benchmarks
    forms = {
        name: frozenset(benchmarks[one["benchmark"]].kind_of(one).answer_form for one in pointers)
        for name, pointers in ours.items()
    }
    misfit = checks.describe_misfit(str(manager.model_name), forms)
    named = [pointer for pointers in ours.values() for pointer in pointers]
    evaluation.look_for_clips(named)
    problems = evaluation.problems(named)
    is_first = os.environ.get("RANK", "0") == "0"
    unready = checks.describe_unready(command_options()) if is_first else None
    stop_if_any(checks.describe_refused() or misfit or problems or unready)
    for name in ours:
        _load_configs(manager, name)
    if on_command_line():
        end_where_lmms_eval_goes_on()


def _load_configs(manager: Any, name: str) -> None:
    """Load a task's configuration, or those of a group's or tag's tasks, so that its faults stop the run now."""
    entry = manager.task_index.get(name, {})
    config = {} if entry.get("type") == "tag" else manager._get_config(name)
    if state := evaluation_of(manager).tasks.get(name):
        given = config.get("lmms_eval_specific_kwargs") or {}
        state.check_settings(given.get(manager.model_name) or given.get("default") or {})
    members = entry["task"] if entry.get("type") == "tag" else config.get("task")
    for member in members if isinstance(members, list) else ():
        if isinstance(member, str) and member != name:
            _load_configs(manager, member)


def wrap_get_config(get_config: Method) -> Method:
    """Return `_get_config`, which gives our hooks and scores to the configurations of our tasks, and views to all."""

    @functools.wraps(get_config)
    def get_bound_config(manager: Any, name: str) -> Any:
        if not hasattr(manager, OURS):
            return get_config(manager, name)
        entry = manager.task_index.get(name, {})
        try:
            config = _view_config(get_config(manager, name), entry)
        except (ImportError, AttributeError) as error:
            file = entry.get("yaml_path", name)
            raise RunStopped(f"{file} names a function that cannot be loaded: {error}.") from None
        return bind_config(name, config, manager.task_index, evaluation_of(manager))

    return get_bound_config


def wrap_load_task_or_group(load: Method) -> Method:
    """Return `load_task_or_group`, which raises what goes wrong: it is not taken for a task without data."""

    @functools.wraps(load)
    def load_or_raise(manager: Any, task_list: Any = None, task_type: Literal["simple", "chat"] = "simple") -> Any:
        if hasattr(manager, OURS):
            add_views(manager, [task_list] if isinstance(task_list, str) else task_list or [])
        try:
            return load(manager, task_list, task_type)
        except RunStopped as stop:
            raise stop.for_program() from None

    return load_or_raise


def wrap_load_config(load_config: Method) -> Method:
    """Return `load_config`, which raises what goes wrong."""

    @functools.wraps(load_config)
    def load_or_raise(manager: Any, config: Any) -> Any:
        try:
            return load_config(manager, config)
        except RunStopped as stop:
            raise stop.for_program() from None

    return load_or_raise


def evaluation_of(manager: Any) -> Evaluation:
    evaluation: Evaluation = getattr(manager, OURS)
    return evaluation


def _listed_views(index: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of all views of the tasks and groups in an index."""
    entries: dict[str, Any] = {}
    for name in index:
        for member in registry().find_members(name)[:1]:
            for view in member.kind.views:
                for listed in listed_as(view):
                    entries.update(_view_entries(index, name_view(name, listed)))
    return entries


def add_views(manager: Any, names: Iterable[Any]) -> None:
    """Put the views that are named, and not listed, into a task manager's index: single frames at any position."""
    index = manager.task_index
    for name in names:
        if not isinstance(name, str) or name in index:
            continue
        for view, entry in _view_entries(index, name).items():
            if view not in index:
                index[view] = entry
                manager.all_tasks.append(view)
                (manager.all_groups if entry["type"] == "group" else manager.all_subtasks).append(view)


def _view_entries(index: Mapping[str, Any], name: str) -> dict[str, Any]:
    members, parent = registry().find_members(name), registry().find_parent(name)
    names = dict.fromkeys((name, *(task.name for task in members)))
    parents = {view: registry().find_parent(view) for view in names}
    if parent == name or not all(one in index for one in parents.values()):
        return {}
    return {view: {**index[one], VIEW: members[0].view} for view, one in parents.items()}


def _view_config(config: Any, entry: Mapping[str, Any]) -> Any:
    """Return a task's or group's configuration as a view of it, where its entry of the index names one."""
    view = entry.get(VIEW, "")
    if not view or not isinstance(config, Mapping):
        return config
    if isinstance(tasks := config.get("task"), list):
        return {**config, "group": name_view(config["group"], view), "task": [name_view(task, view) for task in tasks]}
    return {**config, "task": name_view(config["task"], view)}


def bind_config(name: str, config: Any, index: Mapping[str, Any], evaluation: Evaluation) -> Any:
    """Return a task's or group's configuration with our hooks and scores; others' as it is, or as it names a view."""
    if not isinstance(config, Mapping):
        return config
    is_group = "aggregate_metric_list" in config and "group" in config
    pointer = next(find_pointers(index, name), None) if is_group else _pointer_of(index.get(name, {}), config)
    if pointer is None:
        unbound = [function for hook in HOOKS if is_hook(function := config.get(hook))]
        if unbound:
            raise RunStopped(f"{name}: {unbound_message(unbound[0])}")
        return bind_view(config)
    try:
        if is_group:
            return bind_group(name, config, pointer)
        state = TaskState(name, pointer, [entry["metric"] for entry in config["metric_list"]], evaluation)
        bound = state.bind(config)
    except InputError as error:
        raise RunStopped(str(error)) from None
    registry().derive(name, pointer, config)
    evaluation.add(state)
    return bound


def bind_group(name: str, config: Mapping[str, Any], pointer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's configuration with how each score of its tasks becomes its own."""
    entries = config["aggregate_metric_list"]
    metrics = find_metrics(f"The group {name}", pointer, [entry["metric"] for entry in entries])
    bound = [
        {**entry, "aggregation": functools.partial(aggregate_tasks, metric), "weight_by_size": False}
        for entry, metric in zip(entries, metrics, strict=True)
    ]
    return {**config, "aggregate_metric_list": bound}


def find_pointers(index: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    return (pointer for _, pointer in _members(index, name) if pointer)


def _members(index: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield a task, or those of a group or tag, each with its pointer; None for other people's tasks."""
    from lmms_eval.utils import load_yaml_config

    entry = index.get(name, {})
    path = entry.get("yaml_path", -1)
    config = entry if path == -1 else _view_config(load_yaml_config(path, mode="simple"), entry)
    if not isinstance(config.get("task"), list):
        yield name, _pointer_of(entry, config)
        return
    for member in config["task"]:
        if isinstance(member, str) and member != name:
            yield from _members(index, member)


def _pointer_of(entry: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any] | None:
    path = entry.get("yaml_path", -1)
    if path == -1 or config.get("dataset_path") != "json":
        return None
    pointer = read_pointer(Path(path).parent, config)
    if pointer is None or pointer["benchmark"] not in registry().benchmarks:
        return None
    return {**pointer, VIEW: entry[VIEW]} if VIEW in entry else pointer


def load_tasks(name: str, model: str) -> dict[str, Any]:
    """Return a task, or the tasks of a group, over the prepared data as lmms-eval loads them for a model that takes
    messages."""
    import lmms_eval.models  # noqa: F401  (it calls the plugin, as every evaluation does)
    from lmms_eval.evaluator_utils import get_task_list
    from lmms_eval.tasks import TaskManager, get_task_dict

    folders = [str(benchmark.folder) for benchmark in registry().benchmarks.values()]
    manager = TaskManager(include_path=folders, include_defaults=False, model_name=model)
    add_views(manager, [name])
    evaluation = Evaluation(needs_clips(model), judge_needed=False, splits=False)
    setattr(manager, OURS, evaluation)
    if message := evaluation.problems(list(find_pointers(manager.task_index, name))):
        raise InputError(message)
    return {output.task_name: output.task for output in get_task_list(get_task_dict([name], manager, "chat"))}
