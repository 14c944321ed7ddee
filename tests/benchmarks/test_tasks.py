"""What holds of every task of every benchmark: its YAML, hooks, pointer and scores agree."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pytest
from task_states import task_state
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS, Task

BENCHMARKS = registry().benchmarks
TASKS = registry().tasks
GROUPS = registry().groups
KINDS = [(name, kind) for name, benchmark in BENCHMARKS.items() for kind in benchmark.kinds]


def config_of(task: Task) -> dict[str, Any]:
    return dict(task_configs(task.benchmark.folder)[task.name])


def test_every_benchmark_here_can_be_used() -> None:
    assert BENCHMARKS and registry().faults == ()
    assert {task.benchmark.name for task in TASKS.values()} == set(BENCHMARKS)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_prepare_can_replace_and_none_has_to_know(name: str) -> None:
    assert not {"replace", "sample"} & inspect.signature(BENCHMARKS[name].prepare).parameters.keys()
    shown = CliRunner().invoke(app, ["prepare", name, "--help"])
    assert shown.exit_code == 0 and "--replace" in shown.stdout


@pytest.mark.parametrize("name", TASKS)
def test_a_task_lists_scores_that_its_kind_defines_each_once(name: str) -> None:
    task = TASKS[name]
    entries = config_of(task)["metric_list"]
    assert all(set(entry) == {"metric", "aggregation"} for entry in entries)
    listed = [entry["metric"] for entry in entries]
    assert len(listed) == len(set(listed))
    takes_submissions = task.benchmark.submission is not None and not task.kind.no_submission
    assert listed.count(SUBMISSION_ROWS) == takes_submissions
    assert set(listed) - {SUBMISSION_ROWS} <= {metric.name for metric in task.kind.metrics}


@pytest.mark.parametrize(("benchmark", "kind"), KINDS)
def test_every_score_of_a_kind_is_listed_by_a_task_and_has_one_definition(benchmark: str, kind: str) -> None:
    found = BENCHMARKS[benchmark].kinds[kind]
    names = [metric.name for metric in found.metrics]
    assert len(names) == len(set(names)) and SUBMISSION_ROWS not in names
    listed = {name for task in registry().tasks_of(benchmark).values() if task.kind is found for name in task.metrics}
    assert set(names) <= listed


@pytest.mark.parametrize("name", TASKS)
def test_a_task_prints_which_way_its_scores_are_better(name: str) -> None:
    state = task_state(name)
    better = {entry["metric"]: entry["higher_is_better"] for entry in state.config["metric_list"]}
    assert list(better) == [entry["metric"] for entry in config_of(TASKS[name])["metric_list"]]
    assert all(better[metric.name] is metric.higher_is_better for metric in state.metrics)


@pytest.mark.parametrize("name", TASKS)
def test_a_pointer_names_a_split_of_the_card(name: str) -> None:
    task = TASKS[name]
    config = config_of(task)
    assert task.split in task.benchmark.card.splits
    ((split, file),) = config["dataset_kwargs"]["data_files"].items()
    assert config["test_split"] == split
    written = json.loads((task.benchmark.folder / file).read_text(encoding="utf-8"))
    assert written == task.pointer
    assert set(written) <= {"benchmark", "split", "subset", "kind"}
    assert written["benchmark"] == task.benchmark.name
    assert written.get("kind", next(iter(task.benchmark.kinds))) in task.benchmark.kinds


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_aggregates_scores_of_its_tasks(name: str) -> None:
    members, _ = GROUPS[name]
    tasks = [TASKS[member] for member in members]
    (benchmark,) = {task.benchmark.name for task in tasks}
    config = task_configs(BENCHMARKS[benchmark].folder)[name]
    assert all(set(entry) == {"metric"} for entry in config["aggregate_metric_list"])
    aggregated = {entry["metric"] for entry in config["aggregate_metric_list"]}
    assert all(aggregated <= {metric.name for metric in task.kind.metrics} for task in tasks)
    assert all(aggregated <= set(task.metrics) for task in tasks)


@pytest.mark.parametrize("name", registry().versions)
def test_a_version_has_a_number_and_a_letter(name: str) -> None:
    assert re.fullmatch(r"[1-9]\d*-[A-Z]", registry().versions[name])


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_has_the_version_of_its_tasks(name: str) -> None:
    members, version = GROUPS[name]
    assert {TASKS[member].version for member in members} == {version}
