"""The state of a task, as the plugin builds it, without lmms-eval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.prompting import kwargs_for_checks, read_task_settings
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD, SUBMISSION_ROWS, task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import DataSet, SetKind


class BoundState(TaskState):
    """The state of a task; it has the hooks that its YAML names, bound to it as they are for lmms-eval."""

    process_docs: Callable[[object], Iterable[Mapping[str, Any]]]
    doc_to_visual: Callable[[Mapping[str, Any]], list[Any]]
    doc_to_text: Callable[..., str]
    doc_to_target: Callable[[Mapping[str, Any]], str]
    process_results: Callable[..., dict[str, Any]]

    def __init__(self, task: str, evaluation: Evaluation) -> None:
        known = registry().find_task(task)
        assert known is not None, task
        super().__init__(task, known.pointer, known.metrics, evaluation)
        self.config = self.bind(task_configs(self.benchmark.folder)[registry().find_parent(task)])
        for hook in HOOKS:
            setattr(self, hook, self.config[hook])
        evaluation.add(self)

    @cached_property
    def data_set(self) -> DataSet:
        """What is prepared; the official release where the split is not."""
        try:
            return super().data_set
        except (InputError, KeyError):
            return DataSet(kind=SetKind.OFFICIAL)


def new_state(task: str, evaluation: Evaluation | None = None) -> BoundState:
    """The state of a task of which no item was asked yet; without an evaluation, in one that needs no clips."""
    return BoundState(task, evaluation or Evaluation(clips_needed=False))


def task_state(
    task: str, evaluation: Evaluation | None = None, kwargs: Mapping[str, Any] | None = None, model: str = "default"
) -> BoundState:
    """The state of a task whose settings are known, as after its first item was asked by some model of lmms-eval.

    Its ``lmms_eval_specific_kwargs`` are by default those of its YAML.
    """
    state = new_state(task, evaluation)
    given = state.config.get("lmms_eval_specific_kwargs", {})
    chosen = given.get(model, {**given, **given.get("default", {})}) if kwargs is None else kwargs
    checked = kwargs_for_checks(state.benchmark, chosen)
    state.settle(state.shown.adjust_settings(read_task_settings(state.benchmark, state.kind, checked, {})), chosen)
    return state


def docs_of(state: BoundState) -> list[dict[str, Any]]:
    """The documents that lmms-eval would give the task's hooks."""
    return [dict(doc) for doc in state.process_docs(None)]


def aggregations(state: BoundState) -> dict[str, Any]:
    """Score to what its YAML names as its aggregation, bound."""
    return {entry["metric"]: entry["aggregation"] for entry in state.config["metric_list"]}


def end_task(state: BoundState, items: Sequence[Mapping[str, Any]], args: object) -> int | None:
    """End a task as lmms-eval does, records first; how many rows its submission has."""
    bound = aggregations(state)
    bound[RECORD]([item[RECORD] for item in items])
    rows: int | None = bound[SUBMISSION_ROWS]([item[SUBMISSION_ROWS] for item in items], args)
    return rows
