"""What holds of every task of every benchmark: its YAML, hooks, pointer and scores agree, and a thorough check finds
nothing wrong.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import printed
from submission_world import prepare_world
from task_states import task_state

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.thorough import EXAMPLES, check_declared, check_thoroughly
from lmms_eval_tasks.utils.benchmark.tasks import RECORD, task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import benchmark_dir

BENCHMARKS, TASKS = registry().benchmarks, registry().tasks


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_a_benchmark_declares_agrees(name: str) -> None:
    assert registry().faults == () and name in {task.benchmark.name for task in TASKS.values()}
    check_declared(BENCHMARKS[name]).raise_if_any(name)
    assert "--replace" in printed("prepare", name, "--help")


@pytest.mark.parametrize("name", TASKS)
def test_a_task_prints_which_way_its_scores_are_better(name: str) -> None:
    state, config = task_state(name), task_configs(TASKS[name].benchmark.folder)[name]
    better = {entry["metric"]: entry["higher_is_better"] for entry in state.config["metric_list"]}
    assert list(better) == [*(entry["metric"] for entry in config["metric_list"]), RECORD]
    assert all(better[metric.name] is metric.higher_is_better for metric in state.metrics)


@pytest.mark.parametrize("name", [name for name, one in BENCHMARKS.items() if (one.folder / "README.md").exists()])
def test_the_numbers_of_a_card_stand_on_its_page_or_make_up_one_that_does(name: str) -> None:
    page = (BENCHMARKS[name].folder / "README.md").read_text(encoding="utf-8")

    def stands(number: int) -> bool:
        return bool(re.search(rf"(?<![\d,]){number:,}(?![\d,])", page))

    for split, facts in BENCHMARKS[name].card.splits.items():
        for number in filter(None, (facts.items, facts.groups, facts.clips)):
            # A page says how many pairs there are, and not that each has two items and two clips.
            assert stands(number) or (facts.groups and number == 2 * facts.groups), (split, number)
        strata = facts.strata.values()
        assert sum(strata) == facts.groups or all(map(stands, strata)), split


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root / "releases")
    return root / "home"


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", [name for name, one in BENCHMARKS.items() if not (one.folder / EXAMPLES).exists()])
def test_a_thorough_check_finds_nothing(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package's benchmark, whose folder has examples of its own, is checked by its own tests."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(world))
    if not benchmark_dir(name).is_dir():
        with pytest.raises(InputError, match="no prepared split to draw them of"):
            check_thoroughly(BENCHMARKS[name])
        return
    # What the versions of ours stand for is kept among the tests, so that nothing beside the benchmark has it.
    assert check_thoroughly(BENCHMARKS[name])[-1].endswith(f"check {name} --thorough --keep")
