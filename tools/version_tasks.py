"""How the version gate finds tasks and runs them: the only module of the gate that knows the package's hooks.

A *configuration* is a task's or group's YAML with its templates merged in. An `Example` is scored as a run of its own.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from loguru import logger

from lmms_eval_tasks import judges
from lmms_eval_tasks.hosting import session
from lmms_eval_tasks.utils.building import make_table
from lmms_eval_tasks.utils.card import benchmarks
from lmms_eval_tasks.utils.judge import Case, Judge, Limits, Sampling
from lmms_eval_tasks.utils.judge_cache import Reply, ReplyCache
from lmms_eval_tasks.utils.task_files import task_configs

Configuration = Mapping[str, Any]
Row = Mapping[str, Any]

SETTINGS = ("output_type", "generation_kwargs", "reasoning_tags", "lmms_eval_specific_kwargs")
NOT_A_SCORE = "submission_rows"
"""The metric whose aggregation writes files."""
RUN_CHOICES = ("LMMS_EVAL_TASKS_PROMPT", "LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_JUDGE")
"""Environment variables by which a user changes what a task asks or scores. Examples set their own."""
GROUP_SCORES = ([10.0, 20.0, 40.0, 50.0], [10.0, None, 40.0, 50.0], [None, None, None, None])
"""Scores of a group's four tasks, with and without missing ones."""
GROUP_SIZES = [1, 2, 3, 4]
"""Their numbers of items."""


@dataclass(frozen=True)
class Example:
    """Responses to a few rows, scored together.

    Attributes:
        key: Digest of the fields below; other examples have other keys.
        label: What messages call it.
        items: Rows of a prepared table with the response to each.
        reply: What a judge says of every response.
        environment: Choices of the run, such as ``LMMS_EVAL_TASKS_BOXES``.
    """

    key: str
    label: str
    items: tuple[tuple[Row, Any], ...]
    reply: str
    environment: Mapping[str, str]


def find_configurations() -> dict[str, Mapping[str, Configuration]]:
    """Benchmark to the configurations of its tasks and groups by name."""
    return {benchmark: task_configs(benchmark) for benchmark in benchmarks()}


def group_members(configuration: Configuration) -> list[str] | None:
    """Names of a group's tasks; None for a task."""
    return list(configuration["task"]) if "group" in configuration else None


def group_means(configuration: Configuration) -> dict[str, list[float | None]]:
    """Score of a group to what it is for each of `GROUP_SCORES`."""
    return {
        metric["metric"]: [
            _function(metric["aggregation"])(scores, GROUP_SIZES, metric.get("weight_by_size", True))
            for scores in GROUP_SCORES
        ]
        for metric in configuration["aggregate_metric_list"]
    }


def version_of(configuration: Configuration) -> str:
    """Version N-X of a task or group."""
    return str(configuration["metadata"]["version"])


def scoring_of(configuration: Configuration) -> list[Any]:
    """What decides how a task scores: tasks of a benchmark for which it is equal give equal scores."""
    keys = ("doc_to_text", "process_results", "metric_list", "lmms_eval_specific_kwargs")
    return [configuration.get(key) for key in keys]


def generation_settings(configuration: Configuration) -> dict[str, Any]:
    """What a task's configuration says of how the model is asked."""
    return {setting: configuration.get(setting) for setting in SETTINGS}


def table_schema(benchmark: str) -> list[str]:
    """Columns and types of a benchmark's prepared table."""
    prepare = importlib.import_module(f"lmms_eval_tasks.{benchmark}.prepare")
    return [f"{field.name}: {_type_name(field.type)}" for field in make_table([], prepare.own_columns()).schema]


def render_prompts(configuration: Configuration, row: Row) -> dict[str, str]:
    """What a task asks about a row, for every model that has settings of its own."""
    ask = _function(configuration["doc_to_text"])
    texts = {}
    for model, settings in (configuration.get("lmms_eval_specific_kwargs") or {"default": {}}).items():
        with _run({}, ""):
            texts[model] = ask(row, settings)
    return texts


def score_example(configuration: Configuration, example: Example) -> tuple[dict[str, float | None], list[str]]:
    """Every score of a run over an example, to nine digits, None without items; and what its judge was asked."""
    ask, grade = _function(configuration["doc_to_text"]), _function(configuration["process_results"])
    settings = (configuration.get("lmms_eval_specific_kwargs") or {}).get("default")
    with _run(example.environment, example.reply) as judged:
        for row, _ in example.items:
            ask(row, settings)
        graded = [grade(row, [response]) for row, response in example.items]
        scores = {}
        for metric in configuration["metric_list"]:
            name = metric["metric"]
            if name != NOT_A_SCORE:
                values = [item[name] for item in graded if name in item]
                score = _function(metric["aggregation"])(values) if values else None
                scores[name] = None if score is None else round(float(score), 9)
    return scores, judged


def _type_name(kind: pa.DataType) -> str:
    """A column's type; pyarrow's own name of a list has changed between its versions."""
    return f"list of {_type_name(kind.value_type)}" if pa.types.is_list(kind) else str(kind)


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    imported: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return imported


class _NoCache(ReplyCache):
    def find(self, key: str) -> None:
        """Nothing is kept."""

    def store(self, key: str, reply: Reply) -> None:
        """Keep nothing."""


class _RecordedJudges(dict[Any, Any]):
    """A judge for every schema, which always gives the same reply and keeps what it was asked."""

    def __init__(self, reply: str) -> None:
        super().__init__()
        self.reply = reply
        self.asked: list[str] = []

    def __contains__(self, schema: object) -> bool:
        return True

    def __getitem__(self, schema: Any) -> Judge[Any]:
        return Judge(self._send, Sampling("recorded"), schema, _NoCache(), Limits(requests=1, unreadable=1))

    def _send(self, case: Case) -> Reply:
        self.asked.append(case.text)
        return Reply(self.reply, "recorded")


@contextmanager
def _run(environment: Mapping[str, str], reply: str) -> Iterator[list[str]]:
    """A run by itself, with this environment and no other choices; gives what a judge is asked in it."""
    recorded = _RecordedJudges(reply)
    session.start(clips_needed=True)
    logger.disable("lmms_eval_tasks")
    logging.disable(logging.WARNING)
    try:
        with patch.dict(os.environ), patch.object(judges, "_judges", recorded):
            for name in RUN_CHOICES:
                os.environ.pop(name, None)
            os.environ.update(environment)
            yield recorded.asked
    finally:
        logging.disable(logging.NOTSET)
        logger.enable("lmms_eval_tasks")
        session.start(clips_needed=True)
