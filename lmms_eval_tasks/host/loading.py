"""Our tasks as lmms-eval loads them, and its own arithmetic over what their items contribute."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.index import evaluation_of, find_pointers
from lmms_eval_tasks.host.replacements import INDEX, replace
from lmms_eval_tasks.host.view_entries import add_views
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError


def task_outputs(loaded: dict[Any, Any]) -> dict[str, Any]:
    """Task name to the host's holder of the task, its items and its scores."""
    from lmms_eval.evaluator_utils import get_task_list

    return {output.task_name: output for output in get_task_list(loaded)}


def aggregate(loaded: dict[Any, Any], outputs: Mapping[str, Any], draws: int) -> dict[str, dict[str, dict[str, Any]]]:
    """The host's ``results``, ``groups`` and ``versions``, as JSON values.

    Args:
        loaded: From `load_tasks`.
        outputs: From `task_outputs`, with what each item contributes to each score.
        draws: Of the host's own bootstrap.
    """
    from lmms_eval.evaluator_utils import consolidate_group_results, consolidate_results, prepare_print_tasks
    from lmms_eval.utils import handle_non_serializable

    for output in outputs.values():
        output.calculate_aggregate_metric(bootstrap_iters=draws)
        output.calculate_clt_aggregate_metric()
    results, _, _, versions, *_ = consolidate_results(list(outputs.values()))
    results, versions, *_ = consolidate_group_results(results, versions, loaded)
    tasks, groups = prepare_print_tasks(loaded, results)
    text = json.dumps({"results": tasks, "groups": groups, "versions": versions}, default=handle_non_serializable)
    scores: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    return scores


def load_tasks(names: list[str], model: str, asks: bool = False) -> dict[Any, Any]:
    """Tasks and groups over the prepared data as the host loads them: groups with their tasks, and single tasks.

    Args:
        names: Of tasks and groups.
        model: The model's name.
        asks: Whether items are put to a model that takes chat messages; else saved responses are scored again.

    Raises:
        InputError: where data is not prepared.
    """
    from lmms_eval.tasks import TaskManager, get_task_dict

    replace(INDEX)
    folders = [str(benchmark.folder) for benchmark in registry().benchmarks.values()]
    manager = TaskManager(include_path=folders, include_defaults=False, model_name=model)
    add_views(manager, names)
    evaluation = evaluation_of(manager)
    evaluation.judge_needed = evaluation.splits = False
    evaluation.clips_needed = asks
    pointers = [pointer for name in names for pointer in find_pointers(manager.task_index, name)]
    if message := evaluation.problems(pointers):
        reason = "Questions, options and keys are not in a sample log, but in the prepared data."
        raise InputError(message if asks else f"{message}\n\n{reason}")
    loaded: dict[Any, Any] = get_task_dict(names, manager, "chat" if asks else "simple")
    return loaded


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
