"""The hook into lmms-eval's task index, against the installed host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from loguru import logger

TASKS = {
    "causalvqa": "tag",
    "causalvqa_paired": "task",
    "causalvqa_debug_paired": "task",
    "yocausal": "task",
    "yocausal_vlm": "task",
    "cast_bench": "task",
    "cast_bench_open": "task",
    "mvp": "group",
    "mvp_mini": "group",
    **{
        f"{name}_{subset}": "task"
        for name in ("mvp", "mvp_mini")
        for subset in (
            "human_object_interactions",
            "robot_object_interactions",
            "intuitive_physics",
            "temporal_reasoning",
        )
    },
}


@pytest.fixture(scope="module")
def manager() -> Any:
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    return TaskManager()


@pytest.fixture
def warnings() -> Any:
    found: list[str] = []
    sink = logger.add(lambda message: found.append(message.record["message"]), level="WARNING")
    yield found
    logger.remove(sink)


def test_our_tasks_are_in_the_index_and_win(manager: Any) -> None:
    from lmms_eval_tasks.plugin import TASKS as FOLDER

    for name, kind in TASKS.items():
        entry = manager.task_index[name]
        assert entry["type"] == kind
        if kind == "tag":
            assert set(entry["task"]) <= set(TASKS)
            continue
        assert FOLDER in Path(entry["yaml_path"]).parents


def test_no_task_of_ours_is_missing_from_this_test(manager: Any) -> None:
    from lmms_eval_tasks.plugin import TASKS as FOLDER

    ours = {
        name
        for name, entry in manager.task_index.items()
        if entry["yaml_path"] != -1 and FOLDER in Path(entry["yaml_path"]).parents
    }
    assert ours == {name for name, kind in TASKS.items() if kind != "tag"}


def test_built_in_tasks_stay(manager: Any) -> None:
    assert {"videomme", "mmmu_val"} <= set(manager.all_tasks)


def test_only_ours_without_the_defaults() -> None:
    from lmms_eval.tasks import TaskManager

    assert TaskManager(include_defaults=False).all_tasks == []


@pytest.mark.parametrize("name", sorted(name for name, kind in TASKS.items() if kind == "task"))
def test_every_function_and_metric_of_a_task_resolves(name: str, manager: Any) -> None:
    from lmms_eval.utils import load_yaml_config

    path = Path(manager.task_index[name]["yaml_path"])
    config = load_yaml_config(str(path), mode="full")
    assert config["task"] == name
    for hook in ("process_docs", "doc_to_visual", "doc_to_text", "doc_to_target", "process_results"):
        assert callable(config[hook])
    names = [metric["metric"] for metric in config["metric_list"]]
    assert len(names) == len(set(names))
    assert all(callable(metric["aggregation"]) for metric in config["metric_list"])
    # The host takes such names for its own baseline columns and never prints them.
    assert not [metric for metric in names if metric.startswith("paired_")]
    assert Path(next(iter(config["dataset_kwargs"]["data_files"].values()))).is_file()


def test_card_versions_are_the_tasks_versions(manager: Any) -> None:
    from lmms_eval.utils import load_yaml_config

    from lmms_eval_tasks.utils.benchmark.registry import read_card, registry

    for benchmark in registry().benchmarks:
        for task, version in read_card(benchmark).versions.items():
            config = load_yaml_config(str(manager.task_index[task]["yaml_path"]), mode="full")
            assert config["metadata"]["version"] == version, task


def test_templates_are_not_taken_for_tasks() -> None:
    from lmms_eval_tasks.plugin import TASKS as FOLDER

    for path in FOLDER.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("!function", "")
        assert {"task", "group"} & set(yaml.safe_load(text)), path


@pytest.mark.parametrize("gone", ["initialize_tasks", "match_tasks", "_get_task_and_group", "create_from_arg_string"])
def test_another_host_is_told_of_and_the_way_that_works_named(
    gone: str, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    from lmms_eval.api.model import lmms
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks import plugin

    for name in ("initialize_tasks", "match_tasks"):
        method = getattr(TaskManager, name)
        monkeypatch.setattr(TaskManager, name, getattr(method, "__wrapped__", method))
    monkeypatch.delattr(lmms if gone == "create_from_arg_string" else TaskManager, gone)
    models = plugin.register()
    assert {model.model_id for model in models} == set(plugin.MODELS)
    (message,) = warnings
    assert 'lmms-eval --include_path "$(lmms-eval-tasks path)"' in message
    assert gone in message


def test_registering_twice_wraps_once(manager: Any) -> None:
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks import plugin

    before = TaskManager.initialize_tasks
    plugin.register()
    assert TaskManager.initialize_tasks is before


def test_the_model_that_the_host_makes_is_known_to_scoring_until_the_next_run(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval.models import get_model
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks.host.hosting import session
    from lmms_eval_tasks.host.weights import Weights

    constant = get_model("constant_answer")
    # The host throws weights away before it scores, so they are asked when the model is made.
    monkeypatch.setattr(constant, "model", SimpleNamespace(dtype="torch.float16"), raising=False)
    model = constant.create_from_arg_string("response=B", {"batch_size": 1})
    assert session.model is model and model.response == "B"
    assert session.weights == Weights(precision="float16")
    session.configurations["cast_bench"] = object()
    TaskManager(include_defaults=False, model_name="replay")
    assert session.model is None and not session.configurations and not session.clips_needed


@pytest.mark.slow
def test_our_tasks_are_in_the_index_whatever_is_imported_first() -> None:
    code = (
        "import sys, lmms_eval_tasks.plugin, lmms_eval.models\n"
        "from lmms_eval.tasks import TaskManager\n"
        "sys.exit('causalvqa_paired' not in TaskManager().all_tasks)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.slow
def test_ranks_on_cpus_leave_their_process_group_before_the_process_ends() -> None:
    # What is registered first is called last.
    code = (
        "import atexit, torch.distributed as dist\n"
        "atexit.register(lambda: print('left' if not dist.is_initialized() else 'still there'))\n"
        "import lmms_eval.models\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (finished.returncode, finished.stdout.split()[-1]) == (0, "left"), finished.stderr


def test_our_package_needs_no_host_to_be_imported() -> None:
    modules = ("cli", "report.tables", "sample.build", "utils.scoring.choice")
    imports = ", ".join(f"lmms_eval_tasks.{name}" for name in modules)
    code = f"import sys, {imports}; sys.exit('lmms_eval' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


class Saver:
    """Stands in for the host's tracker: it has written its results."""

    def __init__(self, folder: Path) -> None:
        self.output_path, self.date_id = str(folder), "20261122"
        self.general_config_tracker = type("Config", (), {"model_name_sanitized": ""})()
        (folder / "20261122_results.json").write_text("{}")


@pytest.fixture
def saving(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The host's saving, to be wrapped anew."""
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    saved: list[Any] = []

    def save_results_aggregated(self: Any, results: Any, samples: Any, datetime_str: str) -> str:
        saved.append((results, samples, datetime_str))
        return "saved"

    monkeypatch.setattr(EvaluationTracker, "save_results_aggregated", save_results_aggregated)
    return EvaluationTracker, saved


def test_a_card_that_cannot_be_written_ends_nothing(
    manager: Any, saving: Any, monkeypatch: pytest.MonkeyPatch, warnings: list[str], tmp_path: Path
) -> None:
    from lmms_eval_tasks import plugin
    from lmms_eval_tasks.host import run_card as run_facts

    tracker, saved = saving
    plugin.register()
    monkeypatch.setattr(run_facts, "gather", lambda results: {"run": {"limit": len(results)}})
    assert tracker.save_results_aggregated(Saver(tmp_path), {"a": 1}, None, datetime_str="d") == "saved"
    assert (tmp_path / "20261122_run_card.json").is_file()
    monkeypatch.setattr(run_facts, "gather", lambda results: 1 / 0)
    assert tracker.save_results_aggregated(Saver(tmp_path), results={}, samples=None, datetime_str="d") == "saved"
    assert saved == [({"a": 1}, None, "d"), ({}, None, "d")]
    assert warnings == ["No run card was written (ZeroDivisionError: division by zero)."]
    lost = Saver(tmp_path)
    del lost.date_id
    assert tracker.save_results_aggregated(lost, {}, None, "d") == "saved"
    assert "no attribute 'date_id'" in warnings[1]
    before = tracker.save_results_aggregated
    plugin.register()
    assert tracker.save_results_aggregated is before


@pytest.mark.parametrize("other", ["gone", "another signature"])
def test_a_host_that_saves_otherwise_is_told_of_and_runs_without_cards(
    other: str, manager: Any, saving: Any, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    from lmms_eval_tasks import plugin

    tracker, _ = saving
    if other == "gone":
        monkeypatch.delattr(tracker, "save_results_aggregated")
    else:
        monkeypatch.setattr(tracker, "save_results_aggregated", lambda self, everything: None)
    assert {model.model_id for model in plugin.register()} == set(plugin.MODELS)
    (message,) = warnings
    assert message.startswith("lmms_eval_tasks writes no run cards beside results: this lmms-eval saves otherwise (")
