"""The page of the hooks that lmms-eval lacks: its patches fit the installed version, and give what it says."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import lmms_eval
import pytest
from docs import ROOT

from lmms_eval_tasks.host import replacements

PAGE = (ROOT / "docs" / "host.md").read_text(encoding="utf-8")
FENCED = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
PATCHES = {re.findall(r"^--- a/(\S+)", text, re.MULTILINE)[0]: text for text in FENCED}
HOST = Path(lmms_eval.__file__).parent.parent
Patched = Callable[[str], ModuleType]


@pytest.fixture
def patched(tmp_path: Path) -> Patched:
    """Applies a module's patch to a copy of it, and imports that beside lmms-eval's own."""

    def apply(file: str) -> ModuleType:
        copy = tmp_path / file
        copy.parent.mkdir(parents=True)
        shutil.copyfile(HOST / file, copy)
        done = subprocess.run(["git", "apply"], input=PATCHES[file], cwd=tmp_path, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert copy.read_text("utf-8") != (HOST / file).read_text("utf-8")
        spec = importlib.util.spec_from_file_location(f"patched_{copy.parent.name}_{copy.stem}", copy)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return apply


def enter(module: ModuleType, monkeypatch: pytest.MonkeyPatch, group: str, *hooks: Any) -> None:
    """Let functions be the entry points of a group."""
    points = [SimpleNamespace(load=lambda hook=hook: hook) for hook in hooks]

    def entry_points(*, group: str) -> list[SimpleNamespace]:
        return points if group == named else []

    named = group
    monkeypatch.setattr(module, "entry_points", entry_points)
    assert f"`{group}`" in PAGE


def test_the_page_has_a_patch_of_each_hook_and_names_what_is_replaced() -> None:
    assert len(PATCHES) == 4 and importlib.metadata.version("lmms_eval") == re.findall(r"lmms-eval ([\d.]+\d)", PAGE)[0]
    for replacement in replacements.REPLACEMENTS:
        assert [name for name in replacement.wraps if f"`{name}`" not in PAGE] == []
    ours = "\n".join(path.read_text("utf-8") for path in Path(replacements.__file__).parent.rglob("*.py"))
    for name in re.findall(r"`(wrap_\w+|end_where\w+)`", PAGE):
        assert f"def {name}(" in ours, name


def test_a_package_adds_tasks_and_makes_their_configurations(
    patched: Patched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "theirs.yaml").write_text("task: theirs\n")
    tasks = patched("lmms_eval/tasks/__init__.py")
    ours = {"type": "task", "yaml_path": -1, "config": lambda: {"task": "ours", "repeats": 2}}
    asked = []

    def add(manager: Any, index: dict[str, Any]) -> dict[str, Any]:
        asked.append((type(manager).__name__, sorted(index)))
        return {"ours": ours, "theirs": {**index["theirs"], "config": lambda: {"task": "theirs, changed"}}}

    assert tasks.TaskManager(include_path=str(tmp_path)).all_tasks == ["theirs"]
    enter(tasks, monkeypatch, "lmms_eval.tasks", add)
    manager = tasks.TaskManager(include_path=str(tmp_path))
    assert asked == [("TaskManager", ["theirs"])] and manager.all_tasks == ["ours", "theirs"]
    assert manager.match_tasks(["our*"]) == ["ours"]
    assert [manager._get_config(name)["task"] for name in manager.all_tasks] == ["ours", "theirs, changed"]
    assert tasks.TaskManager(include_defaults=False).all_tasks == []


def test_a_run_is_known_before_its_model_is_loaded_and_again_with_it(
    patched: Patched, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = patched("lmms_eval/evaluator.py")
    happened: list[Any] = []

    def meet(tasks: Any, manager: Any, model: Any, arguments: Any) -> Callable[..., Any]:
        happened.append((tasks, manager, model, arguments))

        def wrap(evaluate: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(**given: Any) -> Any:
                happened.append((given["lm"], given["task_dict"]))
                return evaluate(**given)

            return wrapped

        return wrap

    def load(arguments: str, more: Any) -> Any:
        happened.append("loaded")
        return SimpleNamespace(is_simple=False, task_dict={})

    enter(evaluator, monkeypatch, "lmms_eval.runs", meet)
    # Only the first rank goes on to what it prints.
    monkeypatch.setenv("RANK", "1")
    kind = SimpleNamespace(create_from_arg_string=load)
    monkeypatch.setattr(evaluator, "models", SimpleNamespace(get_model=lambda name, force_simple: kind))
    monkeypatch.setattr(evaluator, "get_task_dict", lambda names, manager, kind: {})
    monkeypatch.setattr(evaluator, "evaluate", lambda **given: happened.append(given["limit"]))
    manager = object()
    evaluator.simple_evaluate("model", "a=1", tasks=["task"], limit=3, task_manager=manager)
    model = happened[2][0]
    assert happened == [(["task"], manager, "model", "a=1"), "loaded", (model, {}), 3] and not model.is_simple


def test_a_package_is_given_the_results_once_they_are_saved(
    patched: Patched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trackers = patched("lmms_eval/loggers/evaluation_tracker.py")
    saved = []

    def note(path: Path, results: dict[str, Any], samples: Any) -> None:
        saved.append((path.name, json.loads(path.read_text("utf-8"))["score"], results["score"], samples))

    enter(trackers, monkeypatch, "lmms_eval.saved", note)
    tracker = trackers.EvaluationTracker(output_path=str(tmp_path))
    tracker.general_config_tracker.log_experiment_args("model", "", None, None, False)
    tracker.save_results_aggregated({"score": 1}, None, "20261122_000000")
    assert saved == [("20261122_000000_results.json", 1, 1, None)]


@pytest.mark.parametrize("fails", [True, False])
def test_a_failed_run_ends_with_a_status(patched: Patched, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    command = patched("lmms_eval/__main__.py")
    monkeypatch.setattr(sys, "argv", ["lmms-eval", "--model", "model"])
    monkeypatch.setattr(command, "Accelerator", lambda **given: SimpleNamespace(is_main_process=False))
    monkeypatch.setattr(command, "cli_evaluate_single", lambda options: 1 / 0)
    if not fails:
        monkeypatch.setattr(command.torch.distributed, "is_initialized", lambda: False)
        waits = SimpleNamespace(is_main_process=False, wait_for_everyone=lambda: None)
        monkeypatch.setattr(command, "Accelerator", lambda **given: waits)
        monkeypatch.setattr(command, "cli_evaluate_single", lambda options: (None, None))
        assert command.cli_evaluate() is None
        return
    with pytest.raises(SystemExit) as ended:
        command.cli_evaluate()
    assert ended.value.code == 1
