"""The hooks that a task's YAML names, bound to the state of their task."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from lmms_eval_tasks.host.state import TaskState
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.task_files import HOOKS, task_configs
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.scoring.hooks import is_hook


def bind_hooks(config: Mapping[str, Any], state: TaskState) -> dict[str, Any]:
    """A task's configuration with its hooks and aggregations bound."""
    own = _own_config(state)
    metrics = {metric.name: metric for metric in state.metrics}
    aggregations = {entry["metric"]: entry.get("aggregation") for entry in own.get("metric_list", ())}
    scores = []
    for entry in config["metric_list"]:
        name = entry["metric"]
        if name == SUBMISSION_ROWS and not state.submits:
            continue
        metric = metrics.get(name)
        function = _find(entry.get("aggregation") or aggregations.get(name), f"an aggregation of {name}", state)
        better = metric.higher_is_better if metric else None
        scores.append({"metric": name, "aggregation": _bind(function, metric or state), "higher_is_better": better})
    hooks = {name: _bind(_find(config.get(name) or own.get(name), name, state), state) for name in HOOKS}
    state.process_results = hooks["process_results"]
    return {**config, **hooks, "metric_list": scores}


def state_of(task: Any) -> TaskState | None:
    """The state of a task that lmms-eval has built; None for other people's."""
    config = getattr(task, "config", None)
    for name in HOOKS:
        for owner in getattr(getattr(config, name, None), "args", ()):
            if isinstance(owner, TaskState):
                return owner
    return None


def _own_config(state: TaskState) -> Mapping[str, Any]:
    """The configuration of the first task of the benchmark's own that works as a state's does; empty without one."""
    own = (task.name for task in registry().tasks_of(state.benchmark.name).values() if task.kind is state.kind)
    return task_configs(state.benchmark.folder).get(next(own, ""), {})


def _find(function: Any, what: str, state: TaskState) -> Any:
    """A hook, by its dotted name where it is one."""
    if not function:
        raise InputError(f"Expected the task {state.name} to name {what} by !function, but it does not.")
    if not isinstance(function, str) or not re.fullmatch(r"\w+(\.\w+)+", function):
        return function
    module, _, name = function.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _bind(function: Callable[..., Any], owner: object) -> Any:
    return partial(function, owner) if is_hook(function) else function
