"""Our tasks as lmms-eval loads them, and its own arithmetic over what their items contribute."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.host.index import evaluation_of, find_pointers, hook_task_manager, state_of
from lmms_eval_tasks.host.state import TaskState
from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError


class LoadedTasks:
    """Our tasks as the host loads them, and its aggregation.

    Args:
        loaded: What the host has loaded: groups with their tasks, and tasks.

    Attributes:
        tasks: Task name to the host's task.
    """

    def __init__(self, loaded: dict[Any, Any]) -> None:
        self._loaded = loaded
        self.tasks: dict[str, Any] = {output.task_name: output.task for output in self.outputs()}

    def state(self, task: str) -> TaskState:
        """The state of one of the tasks."""
        state = state_of(self.tasks[task])
        assert state is not None
        return state

    def outputs(self) -> list[Any]:
        """The host's holder of each task's items and scores."""
        from lmms_eval.evaluator_utils import get_task_list

        return list(get_task_list(self._loaded))

    def aggregate(self, outputs: Mapping[str, Any], draws: int) -> dict[str, dict[str, dict[str, Any]]]:
        """The host's ``results`` and ``groups``, as JSON values."""
        from lmms_eval.evaluator_utils import consolidate_group_results, consolidate_results, prepare_print_tasks
        from lmms_eval.utils import handle_non_serializable

        for output in outputs.values():
            output.calculate_aggregate_metric(bootstrap_iters=draws)
            output.calculate_clt_aggregate_metric()
        results, _, _, versions, *_ = consolidate_results(list(outputs.values()))
        results, versions, *_ = consolidate_group_results(results, versions, self._loaded)
        shown, groups = prepare_print_tasks(self._loaded, results)
        text = json.dumps({"results": shown, "groups": groups, "versions": versions}, default=handle_non_serializable)
        scores: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
        return scores


def load_tasks(names: list[str], model: str) -> LoadedTasks:
    """Load tasks and groups over the prepared data.

    Raises:
        InputError: where data is not prepared.
    """
    from lmms_eval.tasks import TaskManager, get_task_dict

    hook_task_manager()
    folders = [str(benchmark.folder) for benchmark in registry().benchmarks.values()]
    manager = TaskManager(include_path=folders, include_defaults=False, model_name=model)
    evaluation = evaluation_of(manager)
    evaluation.clips_needed = evaluation.judge_needed = False
    pointers = [pointer for name in names for _, pointer in find_pointers(manager.task_index, name)]
    if message := evaluation.problems(pointers):
        reason = "Questions, options and keys are not in a sample log, but in the prepared data."
        raise InputError(f"{message}\n\n{reason}")
    return LoadedTasks(get_task_dict(names, manager, "simple"))
