"""What holds of every task of every benchmark: its YAML, hooks, pointer and scores agree."""

from __future__ import annotations

from typing import Any

import pytest
from task_states import task_state
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.thorough import check_declared
from lmms_eval_tasks.utils.benchmark.benchmark import Task
from lmms_eval_tasks.utils.benchmark.tasks import RECORD, task_configs

BENCHMARKS = registry().benchmarks
TASKS = registry().tasks


def config_of(task: Task) -> dict[str, Any]:
    return dict(task_configs(task.benchmark.folder)[task.name])


def test_every_benchmark_here_can_be_used() -> None:
    assert BENCHMARKS and registry().faults == ()
    assert {task.benchmark.name for task in TASKS.values()} == set(BENCHMARKS)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_prepare_can_replace(name: str) -> None:
    shown = CliRunner().invoke(app, ["prepare", name, "--help"])
    assert shown.exit_code == 0 and "--replace" in shown.stdout


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_a_benchmark_declares_agrees(name: str) -> None:
    check_declared(BENCHMARKS[name]).raise_if_any(name)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_prints_which_way_its_scores_are_better(name: str) -> None:
    state = task_state(name)
    better = {entry["metric"]: entry["higher_is_better"] for entry in state.config["metric_list"]}
    assert list(better) == [*(entry["metric"] for entry in config_of(TASKS[name])["metric_list"]), RECORD]
    assert all(better[metric.name] is metric.higher_is_better for metric in state.metrics)


def test_the_yaml_is_short() -> None:
    assert all(len(task.metrics) <= 12 for task in TASKS.values())
    files = [path for benchmark in BENCHMARKS.values() for path in benchmark.folder.glob("*yaml")]
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= 700
