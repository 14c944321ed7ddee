"""The hooks of lmms-eval that a task's YAML names, and what a task that runs offers them."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from lmms_eval_tasks.utils.answers.choice import choice_grader
from lmms_eval_tasks.utils.answers.question import Ask, Grade, Grader, Warn, ask_choice
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.metrics import Item, Metric

if TYPE_CHECKING:
    import datasets
    from pydantic import BaseModel


Function = TypeVar("Function", bound=Callable[..., Any])

MARK = "_lmms_eval_tasks_hook"


class UnboundHook(RuntimeError):
    """A hook was called by itself, without what it belongs to."""


class RunningTask(ABC):
    """A task of an evaluation, as its hooks see it: each of them gets it as its first argument.

    Attributes:
        ask: Writes the prompt of an item, as the task's kind says.
        grade: Grades a response to an item, as the task's kind says.
        warn: What to log once all items are graded, as the task's kind says; None where nothing is.
    """

    ask: Ask = staticmethod(ask_choice)
    grade: Grade = staticmethod(choice_grader())
    warn: Warn | None = None

    @property
    @abstractmethod
    def settings(self) -> Any:
        """The task's settings, of the type that `TaskKind.read_settings` returns."""

    @property
    @abstractmethod
    def model(self) -> Any:
        """The model that runs; None where none does."""

    @abstractmethod
    def judge(self, schema: type[BaseModel]) -> Grader | None:
        """The run's judge for replies of a schema; None where nothing is to be judged."""

    @abstractmethod
    def open_table(self) -> datasets.Dataset:
        """The prepared table, for the one-row pointer that lmms-eval has read."""

    @abstractmethod
    def show(self, doc: Row) -> list[Any]:
        """Return the visuals of the item's clips: paths of videos, or pictures."""

    @abstractmethod
    def put(self, doc: Row, kwargs: Mapping[str, Any] | None, ask: Ask) -> str:
        """The item's prompt, as the task's view puts it.

        Args:
            doc: The item.
            kwargs: The task's ``lmms_eval_specific_kwargs``; its settings are read from those of the first call.
            ask: The prompt of the whole item.
        """

    @abstractmethod
    def grade_first(self, doc: Row, results: Sequence[Any], grade: Grade) -> dict[str, Any]:
        """Return the item's record for the first response, and its contribution to each score.

        Args:
            doc: The item.
            results: The responses.
            grade: Grades a response to the whole item.
        """

    @abstractmethod
    def finish(self, items: Sequence[Mapping[str, Any]], args: Any, warn: Warn | None = None) -> int | None:
        """Once the items of all ranks are graded: log warnings, and write the files for the leaderboard.

        Returns how many rows the task's file has; None where lmms-eval's command line names no output path.
        """


def hook(function: Function) -> Function:
    """Mark a function as a hook, whose first parameter is the `RunningTask`, or for an aggregation the `Metric`.

    The package binds it when lmms-eval loads the task. Called without it, a hook raises `UnboundHook`, a RuntimeError.
    """

    @functools.wraps(function)
    def call(owner: object = None, *arguments: Any, **named: Any) -> Any:
        if not isinstance(owner, (RunningTask, Metric)):
            raise UnboundHook(unbound_message(function))
        return function(owner, *arguments, **named)

    setattr(call, MARK, True)
    return cast(Function, call)


def is_hook(function: object) -> TypeGuard[Callable[..., Any]]:
    """Whether a function is a hook that is to be bound, and is not yet."""
    return bool(getattr(function, MARK, False))


def unbound_message(function: Callable[..., Any]) -> str:
    """Return the message for a hook that is called without its task."""
    return (
        f"The hook {function.__module__}.{function.__qualname__} was called without its task. lmms-eval-tasks binds it "
        "when lmms-eval loads a task whose data_files name a pointer of an installed benchmark. `lmms-eval power` "
        "loads no plugin: run `lmms-eval --power-analysis --tasks NAME`."
    )


@hook
def process_docs(task: RunningTask, dataset: datasets.Dataset) -> datasets.Dataset:
    """The prepared table, for the one-row pointer that lmms-eval has read."""
    return task.open_table()


@hook
def doc_to_visual(task: RunningTask, doc: Row) -> list[Any]:
    """Return the visuals of the item's clips: paths of videos, or pictures."""
    return task.show(doc)


@hook
def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt of an item, as its kind asks: by default a question, with its options where the prompt lists them."""
    return task.put(doc, lmms_eval_specific_kwargs, task.ask)


@hook
def doc_to_target(task: RunningTask, doc: Row) -> str:
    """Return the target that lmms-eval logs for an item: its key, empty if withheld."""
    return str(doc["answer"] or "")


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a response, as the task's kind grades it, and what it contributes to each score."""
    return task.grade_first(doc, results, task.grade)


@hook
def aggregate(metric: Metric, items: Sequence[Item]) -> float | int | None:
    """A score in the metric's unit, of what the items contribute to it; None where nothing enters it, 0 for counts."""
    return metric.score(items)


@hook
def write_submission(task: RunningTask, items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the file for the leaderboard, log the kind's warnings, and return how many rows the file has.

    None where lmms-eval has no output path.
    """
    return task.finish(items, args, task.warn)
