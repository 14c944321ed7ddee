"""Rescoring of a finished run from its saved responses with today's scorer, without model, clip or judge, written as
lmms-eval 0.7.3's result entries.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from lmms_eval_tasks.host.environment import package_version
from lmms_eval_tasks.host.ranks import ordinary_errors
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState, bind_hooks, find_metrics
from lmms_eval_tasks.host.tasks.task_view import UNANSWERED
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import LoggedItem, Run, assemble_run, read_run
from lmms_eval_tasks.runs.run_card import TASK, Sections, Value
from lmms_eval_tasks.runs.run_files import (
    PER_TASK,
    SUBMISSIONS,
    ResultsFile,
    card_path,
    read_results,
    read_results_with_all,
    results_files,
    sample_log,
)
from lmms_eval_tasks.runs.scores import scores_of, scores_path, scores_text, values_of
from lmms_eval_tasks.utils.benchmark.benchmark import extractor_of
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD, SUBMISSION_ROWS, Task, file_of, task_configs
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import file_sha256, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.text import HOME, escape_surrogates, summarize_names
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.scoring.metrics import Metric, aggregate_tasks
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, FRAME, GradedItem, Record

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
                problems.add(
                    f"{name}, {metric}", what, remedy="Name `aggregate`, or a function of yours, in the task's YAML."
                )
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


GENERATED = ("generate_until", "generate_visual_cot")
"""A task's ``output_type`` by which lmms-eval strips responses of white space; the first where none is named."""
OTHER_DATA = f"Prepare the data that the run was made with, or name its home in {HOME}."


@dataclass(frozen=True)
class RegradedRun:
    """A run's answers, graded again."""

    logs: Mapping[str, Sequence[LoggedItem]]
    tasks: Mapping[str, ScoredTask]
    notes: Sequence[str]


@dataclass(frozen=True, eq=False)
class _OpenTask:
    """A task over its prepared data: its state, its configuration with its hooks bound, and its rows."""

    state: TaskState
    config: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]


def regrade(run: Run, tasks: Sequence[str], folder: Path) -> RegradedRun:
    """Grade the answers in a run's sample logs again."""
    logs, notes = _read_logs(run, tasks), list[str]()
    opened = _open_tasks(tasks, read_results(run.path).config.model)
    docs = _find_docs(run, opened, logs, notes)
    arguments = SimpleNamespace(output_path=None if run.shard else str(folder), model=run.name)
    scored = {}
    for name, task in opened.items():
        if task.state.kind.restore:
            task.state.kind.restore(task.state, docs[name], [item.values for item in logs[name]])
        items = [_grade(task.config, doc, item) for doc, item in zip(docs[name], logs[name], strict=True)]
        scored[name] = ScoredTask(task.config, items, arguments)
    return RegradedRun(logs, scored, notes)


def find_groups(names: Sequence[str]) -> dict[str, ScoredGroup]:
    """Groups of this installation's benchmarks, with the scores that they list; names of single tasks are left out."""
    groups = {}
    for name in names:
        parent, tasks = registry().find_parent(name), registry().find_members(name)
        if parent not in registry().groups:
            continue
        config = task_configs(tasks[0].benchmark.folder)[parent]
        listed = config.get("aggregate_metric_list")
        metrics = None
        if listed is not None:
            metrics = find_metrics(f"The group {name}", tasks[0].pointer, [entry["metric"] for entry in listed])
        groups[name] = ScoredGroup(config["metadata"]["version"], [task.name for task in tasks], metrics)
    return groups


def graded_items(run: Run, tasks: Sequence[str], folder: Path) -> list[GradedItem]:
    """The items of some tasks of a run, graded again; arguments and errors as for `regrade`."""
    regraded = regrade(run, tasks, folder)
    return [
        GradedItem.from_json(json.loads(json.dumps(item[SUBMISSION_ROWS])))
        for task in tasks
        for item in regraded.tasks[task].items
    ]


def _read_logs(run: Run, tasks: Sequence[str]) -> dict[str, tuple[LoggedItem, ...]]:
    logs = {task: run.items_of(task) for task in tasks}
    problems = Problems()
    for items in logs.values():
        for item in items:
            if not item.responses:
                problems.add(item.where, "Expected filtered_resps with what the model said.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return logs


def _open_tasks(names: Sequence[str], model: str) -> dict[str, _OpenTask]:
    """Tasks over their prepared data, their settings those that lmms-eval reads for a model."""
    evaluation = Evaluation(clips_needed=False, judge_needed=False, splits=False)
    tasks = {name: registry().find_task(name) for name in names}
    known = {name: task for name, task in tasks.items() if task}
    assert known == tasks, f"{', '.join(names)} are not all of benchmarks"
    if message := evaluation.problems([task.pointer for task in known.values()]):
        raise InputError(f"{message}\n\nQuestions, options and keys are not in a sample log, but in the prepared data.")
    with ordinary_errors():
        return {name: _open_task(task, evaluation, model) for name, task in known.items()}


def _open_task(task: Task, evaluation: Evaluation, model: str) -> _OpenTask:
    import datasets

    folder, parent = task.benchmark.folder, registry().find_parent(task.name)
    state = TaskState(task.name, task.pointer, task.metrics, evaluation)
    try:
        config = bind_hooks(_own_config(task) if task.config else task_configs(folder)[parent], state)
    except (ImportError, AttributeError) as error:
        file = file_of(folder, parent)
        raise InputError(f"{folder / file} names a function that cannot be loaded: {error}.") from None
    rows = config["process_docs"](datasets.Dataset.from_list([dict(task.pointer)])).to_list()
    # A task reads its settings when it is first asked for a prompt, as lmms-eval does of every task that it loads.
    given = config.get("lmms_eval_specific_kwargs")
    if given is not None:
        given = given[model] if model in given else {**given, **given.get("default", given.get("dataset", {}))}
    if rows and callable(config["doc_to_text"]):
        config["doc_to_text"](*(rows[0], given) if given is not None else (rows[0],))
    return _OpenTask(state, config, rows)


def _own_config(task: Task) -> Mapping[str, Any]:
    """The configuration of a user's variant as its run keeps it, but for functions, which it keeps as texts."""
    kept = {name: value for name, value in (task.config or {}).items() if name not in HOOKS}
    return {**kept, "metric_list": [{"metric": name} for name in task.metrics]}


def _find_docs(
    run: Run, opened: Mapping[str, _OpenTask], logs: Mapping[str, Sequence[LoggedItem]], notes: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """The prepared row of each logged item, in the log's order, asked where the model was."""
    problems = Problems()
    docs: dict[str, list[dict[str, Any]]] = {}
    for task, items in logs.items():
        rows = {row["item_id"]: row for row in opened[task].rows}
        missing = [item.record.item_id for item in items if item.record.item_id not in rows]
        state = opened[task].state
        asked, here = run.set_of(task), read_manifest(state.benchmark.card).splits[state.pointer["split"]]
        if items and not asked.may_share(here.data_set):
            problem = f"Expected {asked.text}, on which it was run, but prepared is {here.data_set.text}."
            problems.add(task, problem, remedy=OTHER_DATA)
        elif missing:
            names = f"{len(missing)} of {len(items)} are not in it ({summarize_names(missing)})"
            problems.add(task, f"Expected every item in the prepared data, but {names}.", remedy=OTHER_DATA)
        else:
            docs[task] = [_asked_row(rows[item.record.item_id], item) for item in items]
        digest, now = run.card.get(f"{TASK}{task}", {}).get("data sha256"), here.table_sha256
        if digest and digest != now:
            notes.append(f"{task}: the data prepared here is not the run's ({str(digest)[:8]}, here {now[:8]})")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return docs


def _asked_row(row: Mapping[str, Any], item: LoggedItem) -> dict[str, Any]:
    """A prepared row as it was asked, and where the model gave no answer, why; None says that it gave one."""
    record = item.record
    why = (record.unscored_reason, record.detail) if record.is_silent(item.responses) else None
    return {**row, "asked": record.asked, UNANSWERED: why, "cut_off": record.detail == CUT_OFF}


def _grade(config: Mapping[str, Any], doc: Mapping[str, Any], item: LoggedItem) -> Mapping[str, Any]:
    """Return the contribution of an item to each score."""
    is_text = config.get("output_type", GENERATED[0]) in GENERATED
    responses = [response.strip() for response in item.responses] if is_text else item.responses
    brought: dict[str, Any] = config["process_results"](doc, responses)
    fields, logged = brought["record"]["fields"], item.record.fields
    # Only the run knows with which prompt it asked.
    if "prompt" in fields:
        fields["prompt"] = logged.get("prompt")
    if FRAME in logged:
        fields[FRAME] = logged[FRAME]
    return brought


HOST_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "token_counts", "doc_hash", "input_media"}
)
"""What of a logged item is the host's and says nothing of its score; ``input`` comes last."""
MARK = ".rescoring"
"""A file in a folder that a run is being written to; it holds the paths of what the run is made of."""
_VERSION = re.compile(r"(\d{1,6})-([A-Z]+)")


@dataclass(frozen=True)
class Change:
    """A score that is not what it was."""

    name: str
    score: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Rescored:
    """A run scored again."""

    run: Run
    results: Mapping[str, Any]
    logs: Mapping[str, Sequence[Mapping[str, Any]]]
    values: Entries
    scores: int
    changes: tuple[Change, ...]
    items: Mapping[str, int]
    notes: tuple[str, ...]


def rescore(source: Path, folder: Path, allow_incomplete: bool = False) -> Rescored:
    """Score a finished run again."""
    run = read_run(source, allow_incomplete, allow_predictions=True)
    form, old = read_results_with_all(run.path)
    notes = [*run.notes, *([f"the run was cut short ({run.incomplete})"] if run.incomplete else [])]
    names, tasks = _choose(run, notes)
    if lacking := [name for name in dict.fromkeys((*names, *tasks)) if name not in form.results]:
        raise InputError(f"{run.path} cannot be scored again: Expected results of {', '.join(lacking)}.")
    regraded = regrade(run, tasks, folder)
    logs, items = {}, {}
    for task, logged in regraded.logs.items():
        logs[task] = list(map(_rewrite, logged, regraded.tasks[task].items))
        items[task] = sum(map(_is_otherwise, logged, logs[task]))
    computed = make_entries(regraded.tasks, find_groups(names))
    results = _updated(old, computed, [*names, *tasks])
    values = _with_others(results["results"], _scored_run(run.path, results, logs))
    scores, changes = _compare(_with_others(old["results"], run), values)
    if run.only_predicted:  # there were no scores before
        changes, items = [], {}
    return Rescored(run, results, logs, values, scores, tuple(changes), items, (*notes, *regraded.notes))


def write_rescored(rescored: Rescored, folder: Path) -> Path:
    """Write a run that was scored again to a new output folder in the host's form, with its card and its scores."""
    return write_scored(rescored, folder, _card(rescored))


def write_scored(rescored: Rescored, folder: Path, card: Sections) -> Path:
    """The same, with a card of one's own."""
    path = folder / rescored.run.path.name
    for task, lines in rescored.logs.items():
        write_file(sample_log(path, task), as_lines(lines))
    run = _scored_run(path, rescored.results, rescored.logs)
    write_file(scores_path(path), scores_text(scores_of(replace(run, logged=rescored.run.logged))))
    write_file(card_path(path), json.dumps(card, ensure_ascii=False, indent=2) + "\n")
    write_file(path, escape_surrogates(json.dumps(rescored.results, ensure_ascii=False, indent=2)))
    return path


def _scored_run(path: Path, results: Mapping[str, Any], logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Run:
    """A run of graded lines."""
    items = {
        task: [LoggedItem(task, Record.from_json(line[RECORD]), line) for line in lines] for task, lines in logs.items()
    }
    return assemble_run(path, ResultsFile.model_validate(results), items)


@contextmanager
def claimed(folder: Path, *sources: Path) -> Iterator[None]:
    """Claim a new folder for what is made of finished runs, by a mark in it that goes when the block ends."""
    mark, name = folder / MARK, b"\0".join(os.fsencode(source.resolve()) for source in sources)
    is_ours = mark.is_file() and mark.read_bytes() == name
    if not is_ours and (mark.exists() or results_files(folder) or (folder / SUBMISSIONS).exists()):
        raise InputError(f"{folder} holds a run already: Expected a new folder. Nothing was written.")
    is_new = not folder.exists()
    write_file(mark, name)
    try:
        yield
    except Exception:
        if list(folder.iterdir()) == [mark]:
            mark.unlink()
            if is_new:
                folder.rmdir()
        raise
    mark.unlink()


def _choose(run: Run, notes: list[str]) -> tuple[list[str], list[str]]:
    """The groups and single tasks of ours in a run, and all its tasks of ours."""
    names = dict.fromkeys((*run.groups, *run.records, *(task for tasks in run.groups.values() for task in tasks)))
    versions = {name: version for name in names if (version := registry().find_version(name))}
    groups = {name: tasks for name, tasks in run.groups.items() if name in versions and set(tasks) <= set(versions)}
    tasks = [task for task in run.records if task in versions]
    problems = Problems()
    for name in (*groups, *tasks):
        theirs, ours = run.versions.get(name, "unknown"), versions[name]
        match = _VERSION.fullmatch(theirs)
        if not match or int(match[1]) > int(ours.partition("-")[0]):
            remedy = "Rescore with the lmms-eval-tasks that made the run, or a later one."
            problems.add(name, f"Expected a version up to {ours}, but got {theirs}.", remedy=remedy)
        elif theirs != ours:
            notes.append(f"{name} was run as version {theirs} and is scored as version {ours}")
    if not tasks:
        problems.add(run.path.name, f"Expected a task of this package, but got {', '.join(run.records)}.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    if others := [name for name in (*run.records, *run.groups) if name not in versions]:
        notes.append(f"not scored again, for this package has no such task or group: {', '.join(others)}")
    grouped = {task for members in groups.values() for task in members}
    return [*groups, *(task for task in tasks if task not in grouped)], tasks


def _rewrite(item: LoggedItem, brought: Mapping[str, Any]) -> dict[str, Any]:
    """A logged line with what the item brings to each score now."""
    host = {name: value for name, value in item.values.items() if name in HOST_FIELDS}
    last = {"input": item.values["input"]} if "input" in item.values else {}
    return {**host, **json.loads(json.dumps(brought)), **last}


def _is_otherwise(item: LoggedItem, line: Mapping[str, Any]) -> bool:
    """Whether an item's record has changed; a field or stratum that only one of both has does not count."""
    before, after = item.record, Record.from_json(line["record"])
    return _shared(before, after) != _shared(after, before)


def _shared(record: Record, other: Record) -> Record:
    """A record with the fields and strata that another has, too."""
    fields = {name: value for name, value in record.fields.items() if name in other.fields}
    stratum = {name: value for name, value in record.stratum.items() if name in other.stratum}
    return replace(record, fields=fields, stratum=stratum)


def _updated(old: Mapping[str, Any], computed: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The saved results with new scores, in the old order; other people's tasks are left out."""
    new = {
        section: {name: entry for name, entry in value.items() if name in names}
        if section in PER_TASK and isinstance(value, Mapping)
        else value
        for section, value in old.items()
    }
    for section in ("results", "groups"):
        for name, before in new.get(section, {}).items():
            if (scores := computed[section].get(name)) is not None:
                kept = [key for key in before if key == "alias" or key in scores]
                new[section][name] = {key: scores.get(key, before.get(key)) for key in dict.fromkeys((*kept, *scores))}
    versions = new.get("versions", {})
    new["versions"] = {name: computed["versions"].get(name, version) for name, version in versions.items()}
    return new


def _with_others(results: Mapping[str, Mapping[str, Any]], run: Run) -> Entries:
    """The entries of a results file, with the scores of its tasks and groups that lmms-eval does not print."""
    others = values_of(run)
    return {
        name: {**{_key(score): value for score, value in others.get(name, {}).items()}, **entries}
        for name, entries in results.items()
    }


def _compare(old: Entries, new: Entries) -> tuple[int, list[Change]]:
    """Count the compared numbers and find those that differ; numbers are equal only to the last digit."""
    count, changes = 0, []
    for name, now in new.items():
        then = old[name]
        for key in dict.fromkeys((*then, *now)):
            before, after = then.get(key), now.get(key)
            if not any(value is None or isinstance(value, (int, float)) for value in (before, after)):
                continue
            if "_stderr" in key and not (key in then and key in now):
                continue  # of a score that only one of both versions prints
            count += 1
            both_nan = before != before and after != after
            if before != after and not both_nan:
                changes.append(Change(name, key.removesuffix(f",{FILTER}"), before, after))
    return count, changes


def _card(rescored: Rescored) -> dict[str, dict[str, Value]]:
    """The run's card, with what scores it now and where it comes from."""
    card: dict[str, dict[str, Value]] = {section: dict(fields) for section, fields in rescored.run.card.items()}
    for task in rescored.logs:
        if fields := card.get(f"{TASK}{task}"):
            known = registry().find_task(task)
            assert known is not None, f"{task} was scored, and is of no benchmark"
            fields["version"] = known.version
            fields["extractor"] = extractor_of(known.kind)
    card["rescored"] = {
        "results": rescored.run.path.name,
        "results sha256": file_sha256(rescored.run.path),
        "lmms-eval-tasks": package_version("lmms-eval-tasks"),
        "lmms-eval": package_version("lmms-eval"),
        "scores": rescored.scores,
        "changed scores": len(rescored.changes),
    }
    return card
