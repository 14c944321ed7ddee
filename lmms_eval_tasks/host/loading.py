"""Our tasks as lmms-eval loads them, and its messages and progress bars muted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.index import evaluation_of, find_pointers
from lmms_eval_tasks.host.replacements import INDEX, replace
from lmms_eval_tasks.host.view_entries import add_views
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError


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
