"""The saved answers of a finished run, graded again by the tasks' own hooks over the prepared data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.hooks import bind_hooks
from lmms_eval_tasks.host.ranks import ordinary_errors
from lmms_eval_tasks.host.state import TaskState, find_metrics
from lmms_eval_tasks.host.task_view import UNANSWERED
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.task_files import HOOKS, file_of, task_configs
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS, Task
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.variables import HOME
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.runs.result_entries import ScoredGroup, ScoredTask
from lmms_eval_tasks.utils.runs.results_file import read_results
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import TASK
from lmms_eval_tasks.utils.runs.sample_log import LoggedItem
from lmms_eval_tasks.utils.scoring.records import CUT_OFF, FRAME, GradedItem

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
            problems.add(task, problem, OTHER_DATA)
        elif missing:
            names = f"{len(missing)} of {len(items)} are not in it ({summarize_names(missing)})"
            problems.add(task, f"Expected every item in the prepared data, but {names}.", OTHER_DATA)
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
    """What an item brings to each score."""
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
