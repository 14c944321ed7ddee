"""lmms-eval 0.7.3's result entries for tasks whose scores all have aggregations that are not lmms-eval's own."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.scoring.metrics import Metric, aggregate_tasks

FILTER = "none"
"""lmms-eval's name for responses that no filter has changed, as none does in our tasks."""
UNKNOWN = "N/A"
"""Where a standard error is not known."""
HOST = "lmms_eval"
BOOTSTRAPPED = ("amber_", "coco_cap_chair")
"""lmms-eval computes a ``stderr`` for functions with these in their names, too."""

Entries = dict[str, dict[str, Any]]
"""Task or group to its entries by key, a score's name with `FILTER`; JSON values."""


@dataclass(frozen=True)
class ScoredTask:
    """A task whose items are graded."""

    config: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]
    arguments: object = None


@dataclass(frozen=True)
class ScoredGroup:
    """A group of tasks."""

    version: Any
    tasks: Sequence[str]
    metrics: Sequence[Metric] | None


def make_entries(tasks: Mapping[str, ScoredTask], groups: Mapping[str, ScoredGroup]) -> dict[str, Entries]:
    """The sections ``results``, ``groups`` and ``versions`` as lmms-eval has them, but for the names' aliases."""
    _refuse_aggregations_of_host(tasks)
    results = {name: _task_entries(task) for name, task in tasks.items()}
    own = {name: _group_entries(group, results) for name, group in groups.items()}
    versions = {name: task.config["metadata"]["version"] for name, task in tasks.items()}
    for name, group in groups.items():
        if group.metrics is not None and any(map(results.get, group.tasks)):
            versions[name] = group.version
    shown = {name: entries for name, entries in own.items() if groups[name].metrics is not None}
    text = json.dumps({"results": results | own, "groups": shown, "versions": versions}, default=_as_json)
    made: dict[str, Entries] = json.loads(text)
    return made


def _refuse_aggregations_of_host(tasks: Mapping[str, ScoredTask]) -> None:
    problems = Problems()
    for name, task in tasks.items():
        for metric, aggregation in _aggregations(task).items():
            module, function = (str(getattr(aggregation, part, "")) for part in ("__module__", "__name__"))
            is_own = not callable(aggregation) or f"{module}.".startswith(f"{HOST}.")
            if is_own or any(part in function for part in BOOTSTRAPPED):
                got = function or aggregation
                what = f"Expected an aggregation of which lmms-eval computes no stderr, but got {got}."
                problems.add(f"{name}, {metric}", what, "Name `aggregate`, or a function of yours, in the task's YAML.")
    problems.raise_if_any("Standard errors cannot be computed again without lmms-eval")


def _aggregations(task: ScoredTask) -> dict[str, Any]:
    return {entry["metric"]: entry["aggregation"] for entry in task.config["metric_list"]}


def _task_entries(task: ScoredTask) -> dict[str, Any]:
    """Entries of each score that an item brings something to, in the order in which the first does."""
    gathered: dict[str, list[Any]] = {}
    for item in task.items:
        for name, value in item.items():
            gathered.setdefault(name, []).append(value)
    aggregations = _aggregations(task)
    entries: dict[str, Any] = {}
    for name, values in gathered.items():
        if (aggregate := aggregations.get(name)) is None:  # lmms-eval leaves a mark of what has no aggregation
            entries |= {_key(name): [], _key(name, "stderr"): []}
            continue
        takes_arguments = "args" in inspect.signature(aggregate).parameters
        entries[_key(name)] = aggregate(values, args=task.arguments) if takes_arguments else aggregate(values)
        independent, clustered = _standard_errors(
            values, task.config.get("score_key") or "score", task.config.get("cluster_key")
        )
        entries |= {_key(name, "stderr"): UNKNOWN, _key(name, "stderr_clt"): independent}
        entries[_key(name, "stderr_clustered")] = clustered
    return entries


def _group_entries(group: ScoredGroup, results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Entries of the scores that a group lists; lmms-eval takes a listed name for a part of other scores' names."""
    if group.metrics is None:
        return {" ": " "}
    members = [results.get(task, {}) for task in group.tasks]
    entries: dict[str, Any] = {}
    for key in dict.fromkeys(key for member in members for key in member if "_stderr" not in key):
        matching: list[Metric] = [metric for metric in group.metrics if metric.name in key]
        if matching:
            entries[key] = aggregate_tasks(matching[-1], [member[key] for member in members if key in member])
            entries[_key(key.removesuffix(f",{FILTER}"), "stderr")] = UNKNOWN
    return entries


def _standard_errors(values: Sequence[Any], score_key: str, cluster_key: str | None) -> tuple[float | str, float | str]:
    """Standard errors of the mean of the items' values: of independent items, and of independent clusters of items."""
    scores: list[float] = []
    names: list[Any] = []
    for value in values:
        if isinstance(value, (int, float)):
            scores.append(value)
            names.append(None)
        elif isinstance(value, dict) and score_key in value:
            scores.append(value[score_key])
            names.append(value.get(cluster_key) if cluster_key else None)
    number = len(scores)
    if number < 2:
        return UNKNOWN, UNKNOWN
    independent = float(np.std(scores, ddof=1) / np.sqrt(number))
    if len(set(names) - {None}) < 2:
        return independent, UNKNOWN
    # numpy sums in another order than lmms-eval, which shows in the last digit.
    mean = sum(scores) / number
    variance = sum((score - mean) ** 2 for score in scores) / (number - 1)
    clusters: dict[Any, list[float]] = {}
    for name, score in zip(names, scores, strict=True):
        clusters.setdefault(name, []).append(score - mean)
    within = 0.0
    for deviations in clusters.values():
        within += sum(deviations) * sum(deviations) - sum(deviation * deviation for deviation in deviations)
    return independent, math.sqrt(variance / number + within / (number * number))


def _key(score: str, error: str = "") -> str:
    return f"{score}_{error},{FILTER}" if error else f"{score},{FILTER}"


def _as_json(value: object) -> Any:
    return int(value) if isinstance(value, np.integer) else str(value)
