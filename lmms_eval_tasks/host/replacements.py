"""Replacements in lmms-eval while it runs, each with the reason why none of its hooks would do, and quiet loading.

These are four functions, and the class of its task managers. With a new version of lmms-eval,
tests/host/test_replacements.py names those that no longer fit.

Single objects have methods replaced as well, by `mock.patch.object`, for as long as one evaluation lasts, because
lmms-eval makes and asks all requests at once and has no hook around that:

- the model's `generate_until` (and `generate_each` where it has it) and the response cache's `execute`, `_lookup` and
  `_is_valid_response`: by `stages`, which has the requests go through its stages on every rank, and keeps what stands
  in place of an answer out of the cache;
- a task's `build_all_requests`: by `part_of_run`, as `--limit` and `--offset` cannot say which documents are in a part
  of a run;
- `maybe_forward_with_tool` of `async_openai`: by `kept_answers`, to keep each answer as it comes.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from loguru import logger

from lmms_eval_tasks.host.index import (
    WRAPPED,
    add_views,
    evaluation_of,
    find_pointers,
    wrap_evaluate,
    wrap_initialize_tasks,
)
from lmms_eval_tasks.host.model.model_identity import wrap_create
from lmms_eval_tasks.host.saving.saved import wrap_save
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.errors import InputError


class Call(NamedTuple):
    """Form of a call to a function here: the number of positional arguments, and the names of the others."""

    positional: int
    named: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replacement:
    """A function of lmms-eval that one of ours takes the place of.

    Attributes:
        module: Its module.
        owner: Its class; empty for a function of the module.
        name: Its name.
        wrap: Makes ours, given lmms-eval's.
        calls: How it, and what else its owner has, is called here.
        reason: Why no hook of lmms-eval does it.
        loss: What lmms-eval-tasks lacks where it is not there, or is called in another way.
        waits: Whether its module is not imported for it: it is replaced once others have imported it.
    """

    module: str
    owner: str
    name: str
    wrap: Callable[[Any], Any]
    calls: Mapping[str, Call]
    reason: str
    loss: str
    waits: bool = False

    def original(self) -> Any:
        """The function, as it is now.

        Raises:
            ImportError, AttributeError: where it is not there.
        """
        return getattr(self.find_owner(), self.name)

    def find_owner(self) -> Any:
        """The class or module that has it.

        Raises:
            ImportError, AttributeError: where it is not there.
        """
        module = importlib.import_module(self.module)
        return getattr(module, self.owner) if self.owner else module


EVALUATE = Replacement(
    "lmms_eval.evaluator", "", "evaluate", wrap_evaluate,
    {"evaluate": Call(0, ("lm", "task_dict"))},
    "Model and tasks meet here first: no hook of a task is given the model, nor called once all tasks are loaded.",
    "does not know the model of a run",
    waits=True,
)  # fmt: skip


def replace(replacement: Replacement) -> None:
    """Replace a function, once; where lmms-eval is built differently a warning says what is lost."""
    if replacement.waits and replacement.module not in sys.modules:
        return
    try:
        owner, original = replacement.find_owner(), replacement.original()
        if getattr(original, WRAPPED, False):
            return
        for name, call in replacement.calls.items():
            inspect.signature(getattr(owner, name)).bind(*[None] * call.positional, **dict.fromkeys(call.named))
        ours = replacement.wrap(original)
    except (ImportError, AttributeError, TypeError) as error:
        logger.warning(
            "lmms_eval_tasks {} in this lmms-eval, which is built differently ({}: {}). It works with 0.7.3.",
            replacement.loss,
            type(error).__name__,
            error,
        )
        return
    setattr(getattr(ours, "__func__", ours), WRAPPED, True)
    setattr(owner, replacement.name, ours)


INDEX = Replacement(
    "lmms_eval.tasks", "TaskManager", "initialize_tasks",
    partial(wrap_initialize_tasks, before_loading=partial(replace, EVALUATE)),
    {
        "initialize_tasks": Call(1, ("include_path", "include_defaults")),
        "match_tasks": Call(2),
        "_get_config": Call(2),
        "load_task_or_group": Call(3),
        "load_config": Call(1, ("config",)),
        "_get_task_and_group": Call(2),
    },
    "There is an entry point for models and none for tasks. The manager becomes one of a class of ours, which checks a "
    "run before the model is loaded, adds views, binds hooks, and lets no failure pass for a task without data.",
    "has no tasks",
)  # fmt: skip
SAVE = Replacement(
    "lmms_eval.loggers.evaluation_tracker", "EvaluationTracker", "save_results_aggregated", wrap_save,
    {"save_results_aggregated": Call(1, ("results", "samples", "datetime_str"))},
    "A run card and scores lie beside the results, whose name is known here alone; two runs of a second would share "
    "their logs.",
    "writes no run cards",
)  # fmt: skip
CREATE = Replacement(
    "lmms_eval.api.model", "lmms", "create_from_arg_string", wrap_create,
    {"create_from_arg_string": Call(2)},
    "Kept answers are those of a model's arguments, which a model does not keep.",
    "keeps no answers",
)  # fmt: skip
REPLACEMENTS = (INDEX, SAVE, CREATE, EVALUATE)


def replace_all() -> None:
    """Replace what can be replaced now; the rest follows when tasks are loaded."""
    for replacement in REPLACEMENTS:
        if not replacement.waits:
            replace(replacement)


def load_tasks(name: str, model: str) -> dict[str, Any]:
    """A task, or the tasks of a group, over the prepared data as lmms-eval loads them for a model that takes
    messages."""
    from lmms_eval.evaluator_utils import get_task_list
    from lmms_eval.tasks import TaskManager, get_task_dict

    replace(INDEX)
    folders = [str(benchmark.folder) for benchmark in registry().benchmarks.values()]
    manager = TaskManager(include_path=folders, include_defaults=False, model_name=model)
    add_views(manager, [name])
    evaluation = evaluation_of(manager)
    evaluation.judge_needed = evaluation.splits = False
    if message := evaluation.problems(list(find_pointers(manager.task_index, name))):
        raise InputError(message)
    return {output.task_name: output.task for output in get_task_list(get_task_dict([name], manager, "chat"))}


@contextmanager
def quiet_host(*names: str) -> Iterator[None]:
    """Without the messages and progress bars of lmms-eval and its data, nor those of further packages."""
    import datasets

    muted = ("lmms_eval", *names)
    datasets.disable_progress_bars()
    for name in muted:
        logger.disable(name)
    try:
        yield
    finally:
        for name in muted:
            logger.enable(name)
        datasets.enable_progress_bars()
