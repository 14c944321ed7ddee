"""The plugin in the installed lmms-eval: its tasks in the index, what is replaced, and what is known of a run."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import replace as changed
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import lmms_eval_tasks
from lmms_eval_tasks.host import replacements, saving
from lmms_eval_tasks.host.manager import VIEW, evaluation_of
from lmms_eval_tasks.host.model.identity import Weights
from lmms_eval_tasks.host.replacements import (
    EVALUATE,
    MANAGER,
    REPLACEMENTS,
    SAVE,
    Call,
    Replacement,
    replace,
)
from lmms_eval_tasks.host.tasks.running import Evaluation, FinishedRun, Results, state_of
from lmms_eval_tasks.models import CHAT_MODELS, MODELS
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.benchmark.views import Describing
from lmms_eval_tasks.utils.core.errors import InputError

pytestmark = pytest.mark.slow  # lmms-eval's tasks are read first

FOLDER = Path(lmms_eval_tasks.__file__).parent
OWN = {name: task for name, task in registry().tasks.items() if FOLDER in task.benchmark.folder.parents}
GROUPS = {name: members for name, (members, _) in registry().groups.items() if set(members) <= OWN.keys()}
FIRST = next(iter(OWN))
"""Some task."""


def read_tags() -> dict[str, set[str]]:
    """Tags that YAML files give our tasks, with the tasks of each."""
    tags: dict[str, set[str]] = {}
    for name, task in OWN.items():
        given = task_configs(task.benchmark.folder)[name].get("tag", ())
        for tag in (given,) if isinstance(given, str) else given:
            tags.setdefault(tag, set()).add(name)
    return tags


@pytest.fixture(scope="module")
def manager(own_tasks: None) -> Any:
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    return TaskManager()


def test_our_tasks_are_in_the_index_and_win(manager: Any) -> None:
    ours = {
        name: entry
        for name, entry in manager.task_index.items()
        if entry["yaml_path"] != -1 and FOLDER in Path(entry["yaml_path"]).parents
    }
    types = {name: entry["type"] for name, entry in ours.items() if VIEW not in entry}
    assert types == {**dict.fromkeys(OWN, "task"), **dict.fromkeys(GROUPS, "group")}
    members = {name: registry().find_members(name) for name in types}
    views_of_all = {name: set.intersection(*(set(one.kind.views) for one in members[name])) for name in types}
    listed = {f"{name}_{view}" for name in types for view in views_of_all[name]}
    views = {name: entry for name, entry in ours.items() if VIEW in entry}
    assert listed and listed == {name for name, entry in views.items() if entry[VIEW] != Describing.ending}
    assert all(entry["type"] == types[name.removesuffix(f"_{entry[VIEW]}")] for name, entry in views.items())
    folders = {path.parent.name for path in FOLDER.glob("*/benchmark.py")}
    assert folders == {Path(manager.task_index[name]["yaml_path"]).parent.name for name in OWN}
    # A tag stands for its tasks, and built-in tasks stay.
    tags = read_tags()
    assert tags and {"videomme", "mmmu_val"} <= set(manager.all_tasks)
    assert {name: (manager.task_index[name]["type"], set(manager.task_index[name]["task"])) for name in tags} == {
        name: ("tag", members) for name, members in tags.items()
    }


def test_every_task_and_group_can_be_configured(manager: Any) -> None:
    """tests/benchmarks has the laws of what its hooks and scores are bound to."""
    assert registry().groups
    for name in (*registry().tasks, *registry().groups):
        config = manager._get_config(name)
        assert config["metadata"]["version"] == registry().find_version(name), name
        names = [metric["metric"] for metric in config.get("metric_list", ())]
        # lmms-eval takes such names for its own baseline columns and never prints them.
        assert len(names) == len(set(names)) and not [metric for metric in names if metric.startswith("paired_")]
        for path in config.get("dataset_kwargs", {}).get("data_files", {}).values():
            assert Path(path).is_file()
    # Templates are not taken for tasks.
    for path in FOLDER.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("!function", "")
        assert {"task", "group"} & set(yaml.safe_load(text)), path


@pytest.mark.parametrize("gone", ["initialize_tasks", "match_tasks", "_get_task_and_group", "_get_config"])
def test_an_lmms_eval_that_is_built_differently_is_named_in_one_warning(
    gone: str, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks import plugin

    for name in MANAGER.wraps:
        method = getattr(TaskManager, name)
        monkeypatch.setattr(TaskManager, name, inspect.unwrap(method))
    monkeypatch.delattr(TaskManager, gone)
    assert {model.model_id for model in plugin.register()} == {*MODELS, *CHAT_MODELS}
    assert warnings == [
        "lmms_eval_tasks has no tasks in this lmms-eval, which is built differently (AttributeError: type object "
        f"'TaskManager' has no attribute '{gone}'). It works with 0.7.3."
    ]


def test_registering_again_wraps_nothing_again_and_names_a_misspelt_variable(
    manager: Any, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    from lmms_eval.tasks import TaskManager

    from lmms_eval_tasks import plugin

    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWER", "none")
    before = TaskManager.initialize_tasks
    plugin.register()
    assert TaskManager.initialize_tasks is before
    assert TaskManager(include_defaults=False).all_tasks == []
    (message,) = warnings
    assert message.startswith("LMMS_EVAL_TASKS_ANSWER is set, but no such variable is read; the nearest is LMMS_")


def test_the_model_and_its_weights_are_known_to_the_tasks_of_its_evaluation_alone(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval import evaluator
    from lmms_eval.models import get_model
    from lmms_eval.tasks import TaskManager

    # lmms-eval throws weights away before it scores, so they are asked before it evaluates.
    model = get_model("constant_answer").create_from_arg_string("response=B", {"batch_size": 1})
    model.model = SimpleNamespace(dtype="torch.float16")
    seen: list[Any] = []

    def evaluate(lm: Any, task_dict: Any, limit: int | None = None) -> dict[str, Any]:
        del lm.model
        seen.extend((state.model, state.facts.weights))
        return {"limit": limit}

    monkeypatch.setattr(evaluator, "evaluate", evaluate)
    replace(EVALUATE)
    task = SimpleNamespace(config=SimpleNamespace(repeats=1, **manager._get_config(FIRST)))
    state: Any = state_of(task)
    assert state.model is None
    results = evaluator.evaluate(model, {"some": {FIRST: task}}, limit=3)
    assert seen == [model, Weights(precision="float16")] and model.arguments.response == "B"
    assert results == {"limit": 3} and results.run.evaluation is state.evaluation is evaluation_of(manager)
    other = evaluation_of(TaskManager(include_defaults=False, model_name="replay"))
    assert not other.tasks and not other.clips_needed
    # Other people's tasks, and ranks that get no results.
    assert type(evaluator.evaluate(SimpleNamespace(model=1), {"theirs": SimpleNamespace()})) is dict
    monkeypatch.setattr(evaluator, "evaluate", lambda lm, task_dict: None)
    replace(EVALUATE)
    assert evaluator.evaluate(lm=model, task_dict={FIRST: task}) is None


def test_a_process_that_imports_ours_first_has_our_tasks_and_leaves_its_process_group() -> None:
    """A rank on a CPU."""
    support = Path(__file__).parent / "support"
    code = (
        "import atexit, torch.distributed as dist\n"
        # What is registered first is called last.
        "atexit.register(lambda: print('left' if not dist.is_initialized() else 'still there'))\n"
        "import lmms_eval_tasks.plugin, lmms_eval.models\n"
        f"import sys; sys.path.append({str(support)!r}); import warm_host; warm_host.read_own_tasks()\n"
        "from lmms_eval.tasks import TaskManager\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        f"print('indexed' if {FIRST!r} in TaskManager().all_tasks else 'not in the index')\n"
        "from lmms_eval.evaluator import evaluate\n"
        "print('replaced' if hasattr(evaluate, '__wrapped__') else 'its own')"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = made.stdout.splitlines()
    assert (made.returncode, lines[-3:]) == (0, ["indexed", "replaced", "left"]), made.stderr


def test_our_package_needs_no_host_and_no_extra_to_be_imported() -> None:
    modules = ("cli", "report.score_tables", "sample.write_sample", "utils.answers.choice")
    code = (
        "import sys; sys.modules.update(diffusers=None)\n"
        f"import {', '.join(f'lmms_eval_tasks.{name}' for name in modules)}\n"
        "from lmms_eval_tasks.registry import registry\n"
        "assert not {'lmms_eval', 'torch'} & set(sys.modules) and not registry().faults, registry().faults\n"
        "print(*registry().benchmarks)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == list(registry().benchmarks), done.stderr


class Saver:
    """Stands in for the host's tracker: it has written its results."""

    def __init__(self, folder: Path) -> None:
        self.output_path, self.date_id = str(folder), "20261122"
        self.general_config_tracker = SimpleNamespace(model_name_sanitized="")
        (folder / "20261122_results.json").write_text("{}")


def test_a_card_that_cannot_be_written_ends_nothing(
    manager: Any, monkeypatch: pytest.MonkeyPatch, warnings: list[str], tmp_path: Path
) -> None:
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    from lmms_eval_tasks import plugin

    saved: list[Any] = []

    def save_results_aggregated(self: Any, results: Any, samples: Any, datetime_str: str) -> str:
        saved.append((results, samples, datetime_str))
        return "saved"

    monkeypatch.setattr(EvaluationTracker, "save_results_aggregated", save_results_aggregated)
    plugin.register()
    save = EvaluationTracker.save_results_aggregated
    ours, nothing = (Results(results, FinishedRun(Evaluation())) for results in ({"a": 1}, {}))
    monkeypatch.setattr(saving, "gather", lambda results, evaluation: {"run": {"limit": len(results)}})
    assert save(Saver(tmp_path), ours, None, datetime_str="d") == "saved"
    assert (tmp_path / "20261122_run_card.json").is_file()
    monkeypatch.setattr(saving, "gather", lambda results, evaluation: 1 / 0)
    named = {"results": nothing, "samples": None, "datetime_str": "d"}
    assert save(Saver(tmp_path), **named) == "saved"
    assert saved == [({"a": 1}, None, "d"), ({}, None, "d")]
    assert warnings == ["No run card was written (ZeroDivisionError: division by zero)."]
    lost = Saver(tmp_path)
    del lost.date_id
    assert save(lost, nothing, None, "d") == "saved"
    assert "no attribute 'date_id'" in warnings[1]
    plugin.register()
    assert EvaluationTracker.save_results_aggregated is save


@pytest.mark.parametrize("replacement", REPLACEMENTS, ids=lambda replacement: next(iter(replacement.wraps)))
def test_the_installed_lmms_eval_has_what_is_replaced(replacement: Replacement) -> None:
    owner = replacement.find_owner()
    for name, call in replacement.calls.items():
        method = getattr(owner, name)
        function = inspect.unwrap(getattr(method, "__func__", method))
        inspect.signature(function).bind(
            *[None] * (call.positional + inspect.ismethod(method)), **dict.fromkeys(call.named)
        )
    assert (
        replacement.wraps.keys() <= replacement.calls.keys() and replacement.reason.endswith(".") and replacement.loss
    )


def test_no_more_is_replaced_than_is_said() -> None:
    """Five methods of task managers and three functions; nothing of lmms-eval is assigned to elsewhere."""
    assert len(REPLACEMENTS) <= 4 and sum(len(replacement.wraps) for replacement in REPLACEMENTS) <= 8
    assigned, wrapped = [], set()
    for path in FOLDER.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        imported = " ".join(re.findall(r"^ *from lmms_eval(?:\.\S+)? import (\([^)]*\)|.+)$", text, re.MULTILINE))
        hosts = "|".join({"lmms_eval", *re.findall(r"\w+", imported)})
        assigned += re.findall(rf"^ *(?:(?:{hosts})(?:\.\w+)+ = |setattr\((?:{hosts})\b).*", text, re.MULTILINE)
        assert "__class__ = " not in text, path
        if "patch.object(" in text:
            wrapped.add(path.stem)
    assert not assigned
    assert wrapped and [name for name in wrapped if f"`{name}`" not in (replacements.__doc__ or "")] == []


def test_what_another_lmms_eval_loses_is_named(log: list[str]) -> None:
    """As where the module or method is gone, or is called otherwise."""
    ((name, wrap),) = SAVE.wraps.items()
    gone = changed(SAVE, wraps={"save": wrap})
    otherwise = changed(SAVE, wraps={"save_results_samples": wrap}, calls={"save_results_samples": SAVE.calls[name]})
    for broken in (changed(SAVE, module="lmms_eval.of_another_day"), gone, otherwise):
        replace(broken)
        said = "lmms_eval_tasks writes no run cards in this lmms-eval, which is built differently"
        assert log.pop().startswith(said) and not log


def test_what_is_called_otherwise_stays_and_nothing_is_replaced_twice(
    monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    def double(function: Any) -> Any:
        return lambda number: 2 * function(number)

    doubled = Replacement("some_module", "", {"count": double}, {"count": Call(1)}, reason="", loss="cannot count")
    module: Any = SimpleNamespace(count=lambda number: number + 1)
    monkeypatch.setitem(sys.modules, "some_module", module)
    for _ in range(2):
        replace(doubled)
        assert module.count(1) == 4 and warnings == []
    module.count = lambda number, other: number
    replace(doubled)
    assert module.count(1, 2) == 1 and "TypeError: missing a required argument: 'other'" in warnings.pop()


def test_other_peoples_tasks_of_an_evaluation_are_counted(manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval import evaluator

    counted: list[tuple[Any, int]] = []
    monkeypatch.setattr(
        "lmms_eval_tasks.host.evaluate.checks.describe_shared_limit", lambda *given: counted.append(given)
    )
    monkeypatch.setattr(evaluator, "evaluate", lambda lm, task_dict, limit=None: {})
    replace(EVALUATE)
    model = SimpleNamespace(generate_until=lambda requests: [])
    task = SimpleNamespace(config=SimpleNamespace(repeats=1, **manager._get_config(FIRST)))
    for tasks in ({FIRST: task}, {"group": {FIRST: task}, "theirs": SimpleNamespace()}):
        evaluator.evaluate(lm=model, task_dict=tasks, limit=4)
    assert counted == [(4, 0), (4, 1)]


@pytest.mark.parametrize(
    ("check", "gives"),
    [
        ("checks.describe_misfit", "no"),
        ("checks.describe_shared_limit", "no"),
        ("checks.describe_limited_sample", "no"),
        ("draw_samples", ((), "no")),
        ("describe_silence", "no"),
    ],
)
def test_whatever_speaks_against_an_evaluation_stops_it(
    check: str, gives: object, manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval import evaluator

    monkeypatch.setattr(evaluator, "evaluate", lambda lm, task_dict: {})
    replace(EVALUATE)
    model = SimpleNamespace(generate_until=lambda requests: [])
    task = SimpleNamespace(config=SimpleNamespace(repeats=1, **manager._get_config(FIRST)))
    assert evaluator.evaluate(lm=model, task_dict={FIRST: task}) == {}
    monkeypatch.setattr(f"lmms_eval_tasks.host.evaluate.{check}", lambda *_: gives)
    with pytest.raises(InputError, match=r"^no$"):
        evaluator.evaluate(lm=model, task_dict={FIRST: task})
