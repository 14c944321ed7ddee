"""The YAML is true: every task names its hooks by dotted names, and these are what runs."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from task_states import BoundState, aggregations, new_state

from lmms_eval_tasks.host.manager import bind_config
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.running import Evaluation, state_of
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.hooks import UnboundHook, unbound_message
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD, SUBMISSION_ROWS, task_configs
from lmms_eval_tasks.utils.core.errors import InputError

TASKS = registry().tasks
VIEWS = [f"{name}_{view}" for name, task in TASKS.items() for view in task.kind.views]


def named(name: str) -> dict[str, str]:
    """What the YAML of a task, or of that of which it is a view, names: hook, or score, to the function."""
    parent = registry().find_parent(name)
    config = task_configs(TASKS[parent].benchmark.folder)[parent]
    scores = {entry["metric"]: entry.get("aggregation", "") for entry in config["metric_list"]}
    return {**{hook: config.get(hook, "") for hook in HOOKS}, **scores}


def resolve(function: str) -> Any:
    module, _, name = function.rpartition(".")
    return getattr(importlib.import_module(module), name)


def given(state: BoundState) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Hook or score to what it is given beside the task: of a score its name."""
    yield from ((hook, ()) for hook in HOOKS)
    yield from ((metric.name, (metric.name,)) for metric in state.metrics)
    if state.submits:
        yield SUBMISSION_ROWS, ()


@pytest.mark.parametrize("name", [*TASKS, *VIEWS])
def test_what_a_yaml_names_is_bound_to_its_task_by_position(name: str) -> None:
    state = new_state(name)
    bound = {entry["metric"]: entry["aggregation"] for entry in state.config["metric_list"]}
    bound |= {hook: state.config[hook] for hook in HOOKS}
    assert bound.pop(RECORD)([]) == [] and state.records == ()
    assert set(bound) == {what for what, _ in given(state)}
    for what, names in given(state):
        assert isinstance(bound[what], partial)
        assert bound[what].func is resolve(named(name)[what])
        assert bound[what].args == (state, *names) and not bound[what].keywords
    assert list(inspect.signature(bound["doc_to_visual"]).parameters) == ["doc"]
    assert list(inspect.signature(bound["doc_to_text"]).parameters) == ["doc", "lmms_eval_specific_kwargs"]


def test_a_hook_that_is_called_unbound_says_so() -> None:
    for function in {resolve(function) for name in TASKS for function in named(name).values()}:
        for arguments in ((), ({"item_id": "1"},), ({"item_id": "1"}, ["A"])):
            with pytest.raises(UnboundHook) as caught:
                function(*arguments)
            assert str(caught.value) == unbound_message(function)
            assert function.__module__ in str(caught.value) and "was called without its task" in str(caught.value)


def test_a_task_with_our_hooks_and_no_pointer_ends_the_run_at_once() -> None:
    name = next(iter(TASKS))
    config = {"task": "mine", "dataset_path": "json", "process_docs": resolve(named(name)["process_docs"])}
    with pytest.raises(RunStopped, match=r"^\nmine: The hook .*process_docs was called without its task\."):
        bind_config("mine", config, {}, Evaluation())


@pytest.mark.parametrize("name", TASKS)
def test_a_variant_has_the_hooks_that_it_does_not_name_and_keeps_its_own(name: str) -> None:
    state, score = new_state(name), TASKS[name].metrics[0]
    bound = state.bind({"metric_list": [{"metric": score}], "doc_to_visual": show_nothing})
    assert bound["doc_to_visual"] is show_nothing
    assert bound["process_results"].func is state.config["process_results"].func
    assert [entry["metric"] for entry in bound["metric_list"]] == [score, RECORD]
    assert bound["metric_list"][0]["aggregation"].func is aggregations(state)[score].func
    assert state_of(SimpleNamespace(config=SimpleNamespace(**bound))) is state
    with pytest.raises(InputError, match=rf"^Expected the task {name} to name an aggregation of cider by !function"):
        state.bind({"metric_list": [{"metric": "cider"}]})


def show_nothing(doc: dict[str, Any]) -> list[Any]:
    return []


def test_somebody_elses_task_has_no_state() -> None:
    assert state_of(None) is None and state_of(object()) is None
