"""What `rescore` and `merge` write beside every score of every task, group and view is what lmms-eval has there.

An lmms-eval that computes its results otherwise is noticed here.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from graded_records import records_of
from task_states import aggregations, new_state

from lmms_eval_tasks.finished.rescore import RegradedTask, consolidate
from lmms_eval_tasks.host.manager import add_views
from lmms_eval_tasks.host.tasks.running import TaskState
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import Record

pytestmark = pytest.mark.slow  # lmms-eval is imported

GROUPED = {task for members, _ in registry().groups.values() for task in members}
WHOLE = [*registry().groups, *(task for task in registry().tasks if task not in GROUPED)]
OF_KINDS = {id(task.kind): (name, task.kind) for name in WHOLE if (task := registry().find_task(name))}
VIEWS = [
    f"{name}_{view}"
    for name, kind in OF_KINDS.values()
    for view in kind.views
    if all(view in member.kind.views for member in registry().find_members(name))
]
"""Those of one task or group of each kind."""


@pytest.fixture(scope="module")
def manager() -> Any:
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks import plugin

    plugin.register()
    folders = [str(benchmark.folder) for benchmark in registry().benchmarks.values()]
    manager = TaskManager(include_path=folders, include_defaults=False)
    add_views(manager, VIEWS)
    return manager


def brought(state: TaskState, place: int) -> list[dict[str, Any]]:
    """What lmms-eval gathers of some items of a task; of the next tasks of a group it is others."""
    kinds = state.benchmark.kinds
    kind = next(name for name in kinds if kinds[name] is state.kind)
    records = records_of(state.benchmark.name, kind)[place::11]
    state.data_set = DataSet(kind=SetKind.SAMPLE)
    return [state.gather(record) for record in records]


def results_of_host(manager: Any, name: str, items: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """lmms-eval's own results of a task, or of a group and its tasks, without their aliases."""
    from lmms_eval.api.group import ConfigurableGroup
    from lmms_eval.api.task import ConfigurableTask, TaskConfig
    from lmms_eval.evaluator_utils import (
        TaskOutput,
        consolidate_group_results,
        consolidate_results,
        prepare_print_tasks,
    )
    from lmms_eval.utils import handle_non_serializable

    class WithoutData(ConfigurableTask):  # type: ignore[misc]
        def __init__(self, config: Any) -> None:
            self._config = TaskConfig(**config)
            self.VERSION = self.config.metadata["version"]
            self._prepare_metric_and_aggregation()

    tasks: dict[Any, Any] = {task: WithoutData(manager._get_config(task)) for task in items}
    loaded = tasks if name in items else {ConfigurableGroup(config=manager._get_config(name)): tasks}
    outputs = [TaskOutput.from_taskdict(task, tasks[task]) for task in items]
    for output in outputs:
        for item in items[output.task_name]:
            for metric, value in item.items():
                output.sample_metrics[metric, "none"].append(value)
        output.calculate_aggregate_metric(bootstrap_iters=100)
        output.calculate_clt_aggregate_metric()
    results, _, _, versions, *_ = consolidate_results(outputs)
    results, versions, *_ = consolidate_group_results(results, versions, loaded)
    entries, groups = prepare_print_tasks(loaded, results)
    text = json.dumps({"results": entries, "groups": groups, "versions": versions}, default=handle_non_serializable)
    sections: dict[str, Any] = json.loads(text)
    for section in ("results", "groups"):
        for of_name in sections[section].values():
            del of_name["alias"]
    return sections


@pytest.mark.parametrize("name", [*WHOLE, *VIEWS])
def test_entries_are_those_of_lmms_eval(name: str, manager: Any) -> None:
    members = [task.name for task in registry().find_members(name)]
    states = {task: new_state(task) for task in members}
    items = {task: brought(state, place) for place, (task, state) in enumerate(states.items())}
    tasks = {task: RegradedTask(state.config, state.kind, [], [], items[task]) for task, state in states.items()}
    made, theirs = consolidate(tasks, [name]), results_of_host(manager, name, items)
    assert made == theirs
    assert [list(made["results"][task]) for task in members] == [list(theirs["results"][task]) for task in members]
    # The scores of a group have the order of its tasks'.
    order = list(dict.fromkeys(key for task in members for key in made["results"][task]))
    found = list(made["results"][name])
    assert found in ([key for key in order if key in found], [" "])


def test_a_score_is_of_its_filters_records_also_where_the_first_rank_has_no_item() -> None:
    """lmms-eval then takes the names of scores, each with its filter, as another rank sends them, in their order."""
    from lmms_eval.evaluator_utils import TaskOutput

    state = new_state(registry().find_members(WHOLE[0])[0].name)
    items = brought(state, 0)
    third = len(items) // 3
    assert third
    by_filter = {"longer": items[third:], "shorter": items[:third]}
    names = {(name, taken) for taken, some in by_filter.items() for item in some for name in item}
    output = TaskOutput(SimpleNamespace(aggregation=lambda: aggregations(state)), state.name, {}, "1-A")
    for name, taken in sorted(pickle.loads(pickle.dumps(names)), key=str):
        output.sample_metrics[name, taken] = [item[name] for item in by_filter[taken] if name in item]
    output.calculate_aggregate_metric(bootstrap_iters=0)
    found = {
        taken: {metric.name: output.agg_metrics[f"{metric.name},{taken}"] for metric in state.metrics}
        for taken in by_filter
    }
    records = {taken: [Record.from_json(item["record"]) for item in some] for taken, some in by_filter.items()}
    assert found == {
        taken: {metric.name: metric.score_records(some) for metric in state.metrics} for taken, some in records.items()
    }
    assert found["longer"] != found["shorter"]
