"""Functions of lmms-eval that are replaced while it runs, each with the reason why no hook of it would do.

docs/host.md has the hooks that would take their place. With a new version of lmms-eval,
tests/test_plugin.py names those that no longer fit.

Single objects have methods replaced as well, by `mock.patch.object`, for as long as one evaluation lasts, because
lmms-eval makes and asks all requests at once and has no hook around that:

- the model's `generate_until` (and `generate_each` where it has it) and the response cache's `execute`, `_lookup` and
  `_is_valid_response`: by `stages`, which has the requests go through its stages on every rank, and keeps what stands
  in place of an answer out of the cache;
- a task's `build_all_requests`: by `parts`, as `--limit` and `--offset` cannot say which documents are in a part of a
  run;
- the `create` of the client of `openai` and `async_openai`, the threads of the one, and `maybe_forward_with_tool` of
  the other: by `servers`, to read all that a server says, and to keep each answer as it comes.

A model that is only shown its inputs has those of transformers replaced: by `inputs`, which reads no weights.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from loguru import logger

from lmms_eval_tasks.host import manager
from lmms_eval_tasks.host.evaluate import wrap_evaluate
from lmms_eval_tasks.host.model.identity import wrap_create
from lmms_eval_tasks.host.saving import wrap_save

WRAPPED = "_lmms_eval_tasks"
"""Marks what is replaced already."""


class Call(NamedTuple):
    """Form of a call to a function here: the number of positional arguments, and the names of the others."""

    positional: int
    named: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replacement:
    """Functions of lmms-eval, of one class or module, that ours take the place of: all of them or none."""

    module: str
    owner: str
    wraps: Mapping[str, Callable[[Any], Any]]
    """What makes ours of each function."""
    calls: Mapping[str, Call]
    """How they, and what else their owner has, are called here."""
    reason: str
    """Why no hook of lmms-eval does it."""
    loss: str
    """What lmms-eval-tasks lacks where one is not there, or is called in another way."""

    def find_owner(self) -> Any:
        """Return the class or module that has them; raises ImportError or AttributeError where it is not there."""
        module = importlib.import_module(self.module)
        return getattr(module, self.owner) if self.owner else module


def replace(replacement: Replacement) -> None:
    """Replace functions, once; where lmms-eval is built differently a warning says what is lost."""
    try:
        owner = replacement.find_owner()
        found = {name: getattr(owner, name) for name in replacement.wraps}
        originals = {name: function for name, function in found.items() if not getattr(function, WRAPPED, False)}
        if not originals:
            return
        for name, call in replacement.calls.items():
            inspect.signature(getattr(owner, name)).bind(*[None] * call.positional, **dict.fromkeys(call.named))
        ours = {name: replacement.wraps[name](original) for name, original in originals.items()}
    except (ImportError, AttributeError, TypeError) as error:
        logger.warning(
            "lmms_eval_tasks {} in this lmms-eval, which is built differently ({}: {}). It works with 0.7.3.",
            replacement.loss,
            type(error).__name__,
            error,
        )
        return
    for name, function in ours.items():
        setattr(getattr(function, "__func__", function), WRAPPED, True)
        setattr(owner, name, function)


def replace_first() -> None:
    """Replace all but `evaluate`, in whose module lmms-eval calls the plugin; it follows with the first manager."""
    for replacement in REPLACEMENTS:
        if replacement is not EVALUATE:
            replace(replacement)


def _wrap_initialize_tasks(initialize_tasks: Callable[..., Any]) -> Callable[..., Any]:
    index_tasks = manager.wrap_initialize_tasks(initialize_tasks)

    @functools.wraps(initialize_tasks)
    def replace_and_index(*arguments: Any, **named: Any) -> Any:
        replace(EVALUATE)
        return index_tasks(*arguments, **named)

    return replace_and_index


MANAGER = Replacement(
    "lmms_eval.tasks", "TaskManager",
    {
        "initialize_tasks": _wrap_initialize_tasks,
        "match_tasks": manager.wrap_match_tasks,
        "_get_config": manager.wrap_get_config,
        "load_task_or_group": manager.wrap_load_task_or_group,
        "load_config": manager.wrap_load_config,
    },
    {
        "initialize_tasks": Call(1, ("include_path", "include_defaults")),
        "match_tasks": Call(2),
        "_get_config": Call(2),
        "load_task_or_group": Call(3),
        "load_config": Call(1, ("config",)),
        "_get_task_and_group": Call(2),
    },
    "There is an entry point for models and none for tasks. A run has to be checked before its model is loaded; tasks "
    "have views, and hooks that know their run; and a failure must not pass for a task without data.",
    "has no tasks",
)  # fmt: skip
EVALUATE = Replacement(
    "lmms_eval.evaluator", "", {"evaluate": wrap_evaluate},
    {"evaluate": Call(0, ("lm", "task_dict"))},
    "Model and tasks meet here first: no hook of a task is given the model, nor called once all tasks are loaded.",
    "does not know the model of a run",
)  # fmt: skip
SAVE = Replacement(
    "lmms_eval.loggers.evaluation_tracker", "EvaluationTracker", {"save_results_aggregated": wrap_save},
    {"save_results_aggregated": Call(1, ("results", "samples", "datetime_str"))},
    "A run card and scores lie beside the results, whose name is known here alone; two runs of a second would share "
    "their logs.",
    "writes no run cards",
)  # fmt: skip
CREATE = Replacement(
    "lmms_eval.api.model", "lmms", {"create_from_arg_string": wrap_create},
    {"create_from_arg_string": Call(2)},
    "Kept answers are those of a model's arguments, which a model does not keep.",
    "keeps no answers",
)  # fmt: skip
REPLACEMENTS = (MANAGER, SAVE, CREATE, EVALUATE)
