"""How tasks are run over examples, without lmms-eval and without a model."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from loguru import logger

from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.hooks import bind_hooks
from lmms_eval_tasks.host.judge import read_settings
from lmms_eval_tasks.host.state import TaskState
from lmms_eval_tasks.installed.registry import find_benchmark, registry
from lmms_eval_tasks.installed.settings import kwargs_for_checks, read_task_settings
from lmms_eval_tasks.utils.benchmark.data_set import DataSet, SetKind
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS, Task
from lmms_eval_tasks.utils.data.building import make_table
from lmms_eval_tasks.utils.judge.cache import Reply, ReplyCache
from lmms_eval_tasks.utils.judge.client import Case, Judge, Limits, Sampling
from lmms_eval_tasks.utils.scoring.metrics import aggregate_tasks

Configuration = Mapping[str, Any]
Row = Mapping[str, Any]

SETTINGS = ("output_type", "generation_kwargs", "reasoning_tags", "lmms_eval_specific_kwargs")
RUN_CHOICES = ("LMMS_EVAL_TASKS_PROMPT", "LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_JUDGE")
"""Environment variables by which a user changes what a task asks or scores. Examples set their own."""
GROUP_SCORES = ([10.0, 20.0, 40.0, 50.0], [10.0, None, 40.0, 50.0], [None, None, None, None])
"""What a group's tasks may score, and below how many items they may have."""
GROUP_SIZES = [1, 2, 3, 4]


@dataclass(frozen=True)
class Example:
    """Responses to a few rows, scored together."""

    key: str
    label: str
    items: tuple[tuple[Row, Any], ...]
    reply: Mapping[str, str]
    environment: Mapping[str, str]


def asks(task: Task | None, rows: Iterable[Row]) -> Callable[[Row], bool]:
    """Whether a task asks a row: of its split and subset, or of its kind's where no example row is of its own."""
    if task is None:
        return lambda row: True
    rows = list(rows)
    alike = [other for other in registry().tasks_of(task.benchmark.name).values() if other.kind is task.kind]
    for tasks, any_split in (([task], False), (alike, False), (alike, True)):

        def asked(row: Row, tasks: Sequence[Task] = tasks, any_split: bool = any_split) -> bool:
            return any(
                (any_split or row.get("split") in (None, one.split))
                and one.pointer.get("subset") in (None, row.get("subset"))
                for one in tasks
            )

        if any(map(asked, rows)):
            break
    return asked


def find_configurations(benchmark: str) -> Mapping[str, Configuration]:
    """The configurations of a benchmark's tasks and groups by name."""
    return task_configs(find_benchmark(benchmark).folder)


def group_members(configuration: Configuration) -> list[str] | None:
    """Names of a group's tasks; None for a task."""
    return list(configuration["task"]) if "group" in configuration else None


def group_means(configuration: Configuration) -> dict[str, list[float | None]]:
    """Score of a group to what it is for each of `GROUP_SCORES`."""
    kind = registry().tasks[configuration["task"][0]].kind
    return {
        name: [aggregate_tasks(kind.metric(name), scores, GROUP_SIZES) for scores in GROUP_SCORES]
        for name in (entry["metric"] for entry in configuration["aggregate_metric_list"])
    }


def version_of(configuration: Configuration) -> str:
    """Version N-X of a task or group."""
    return str(configuration["metadata"]["version"])


def scoring_of(configuration: Configuration) -> list[Any]:
    """What a task's configuration says of how it is scored: tasks of a benchmark with the same score alike."""
    pointer = registry().tasks[configuration["task"]].pointer
    return [pointer.get("kind"), configuration["metric_list"], configuration.get("lmms_eval_specific_kwargs")]


def generation_settings(configuration: Configuration) -> dict[str, Any]:
    """What a task's configuration says of how the model is asked."""
    return {setting: configuration.get(setting) for setting in SETTINGS}


def table_schema(benchmark: str) -> list[str]:
    """Columns and types of a benchmark's prepared table."""
    columns = find_benchmark(benchmark).schema()
    return [f"{field.name}: {_type_name(field.type)}" for field in make_table([], columns).schema]


def render_prompts(configuration: Configuration, row: Row) -> dict[str, str]:
    """What a task asks about a row, for every model that has settings of its own."""
    texts = {}
    for model, settings in (configuration.get("lmms_eval_specific_kwargs") or {"default": {}}).items():
        with run_task(configuration, RecordedEvaluation({})) as state:
            texts[model] = bind_hooks(configuration, state)["doc_to_text"](row, settings)
    return texts


def score_items(
    configuration: Configuration, example: Example, items: Sequence[tuple[Row, Any]]
) -> tuple[dict[str, float | None], list[str]]:
    """Every score of a run over an example's items, to nine digits, None without any; and what its judge was asked."""
    settings = (configuration.get("lmms_eval_specific_kwargs") or {}).get("default")
    evaluation = RecordedEvaluation(example.reply)
    with run_task(configuration, evaluation, example.environment) as state:
        bound = bind_hooks(configuration, state)
        for row, _ in items:
            bound["doc_to_text"](row, settings)
        graded = [grade_row(state, bound, row, response) for row, response in items]
        scores = {}
        for name, aggregate in ((entry["metric"], entry["aggregation"]) for entry in bound["metric_list"]):
            if name != SUBMISSION_ROWS:
                values = [item[name] for item in graded if name in item]
                score = aggregate(values) if values else None
                scores[name] = None if score is None else round(float(score), 9)
    return scores, evaluation.asked


def grade_row(state: TaskState, bound: Configuration, row: Row, response: Any) -> dict[str, Any]:
    """What a response to a recorded row brings; of its set, rows say no more than whether it is a sample."""
    state.data_set = DataSet(kind=SetKind.SAMPLE if row.get("sample") else SetKind.OFFICIAL)
    items: dict[str, Any] = bound["process_results"](row, [response])
    return items


def _type_name(kind: pa.DataType) -> str:
    """A column's type; pyarrow's own name of a list has changed between its versions."""
    return f"list of {_type_name(kind.value_type)}" if pa.types.is_list(kind) else str(kind)


class _NoCache(ReplyCache):
    def find(self, key: str) -> None:
        """Nothing is kept."""

    def store(self, key: str, reply: Reply) -> None:
        """Keep nothing."""


class RecordedEvaluation(Evaluation):
    """An evaluation whose judge gives the same reply to each prompt and keeps what it was asked."""

    def __init__(self, reply: Mapping[str, str]) -> None:
        super().__init__()
        self.reply = reply
        self.asked: list[str] = []

    def judge(self, schema: Any, optional: bool = False) -> Judge[Any] | None:
        """A judge for replies of a schema; None where a run need not have one and the example chooses none."""
        if optional and read_settings(optional=True) is None:
            return None
        return Judge(self._send, Sampling("recorded"), schema, _NoCache(), Limits(requests=1, unreadable=1))

    def _send(self, case: Case) -> Reply:
        self.asked.append(case.text)
        return Reply(self.reply.get(case.prompt.prompt_id, ""), "recorded")


@contextmanager
def run_task(
    configuration: Configuration,
    evaluation: Evaluation,
    environment: Mapping[str, str] | None = None,
    scored: bool = True,
) -> Iterator[TaskState]:
    """A task's state by itself, with this environment and no other choices of the user."""
    task = registry().tasks[configuration["task"]]
    logger.disable("lmms_eval_tasks")
    logging.disable(logging.WARNING)
    try:
        with patch.dict(os.environ):
            for name in RUN_CHOICES:
                os.environ.pop(name, None)
            os.environ.update(environment or {})
            state = TaskState(task.name, task.pointer, task.metrics if scored else (), evaluation)
            kwargs = (configuration.get("lmms_eval_specific_kwargs") or {}).get("default") or {}
            checked = kwargs_for_checks(task.benchmark, kwargs)
            if checked != kwargs:
                state.settings = read_task_settings(task.benchmark, task.kind, checked, os.environ)
            yield state
    finally:
        logging.disable(logging.NOTSET)
        logger.enable("lmms_eval_tasks")
