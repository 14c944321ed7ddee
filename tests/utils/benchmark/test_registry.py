"""The registry: benchmarks of other packages, and what is said of those that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.registry import build_registry, registry
from lmms_eval_tasks.utils.benchmark.task_files import HOOKS

OWN = list(registry().benchmarks.values())


class Announced:
    """An entry point that gives what a test wants."""

    dist = None

    def __init__(self, name: str, found: Any) -> None:
        self.name, self.value, self._found = name, f"package:{name}", found

    def load(self) -> Any:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def other(tmp_path: Path, name: str, task: str, hooks: Sequence[str] = HOOKS) -> Benchmark:
    named = "".join(f"{hook}: !function mine.hooks.{hook}\n" for hook in hooks)
    (tmp_path / "pointer.json").write_text(f'{{"benchmark": "{name}", "split": "test"}}')
    (tmp_path / f"{task}.yaml").write_text(
        f"task: {task}\ndataset_kwargs:\n  data_files:\n    test: pointer.json\n"
        f"{named}metric_list:\n  - metric: pair_accuracy\n    aggregation: !function mine.hooks.aggregate\n"
        "metadata:\n  version: 1-A\n"
    )
    return replace(OWN[0], card=replace(OWN[0].card, name=name), folder=tmp_path)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (ImportError("no module named x"), "ImportError: no module named x"),
        ("a text", "TypeError: package:odd is a str, not a Benchmark"),
        (OWN[0], f"ValueError: the name {OWN[0].name} is taken"),
    ],
)
def test_what_cannot_be_used_is_named_and_left_out(found: Any, why: str) -> None:
    built = build_registry(OWN, [Announced("odd", found)])  # type: ignore[list-item]
    assert list(built.benchmarks) == [benchmark.name for benchmark in OWN]
    assert built.faults == (f"The benchmark odd of the package package:odd cannot be used ({why}). The others work.",)


def test_a_task_that_names_no_hook_is_refused(tmp_path: Path) -> None:
    built = build_registry(OWN, [Announced("odd", other(tmp_path, "other", "mine", HOOKS[:3]))])  # type: ignore[list-item]
    assert built.faults[0].endswith(
        "(ValueError: the task mine names no function for doc_to_target, process_results). The others work."
    )


def test_a_task_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    taken = next(iter(registry().tasks))
    built = build_registry(OWN, [Announced("odd", other(tmp_path, "other", taken))])  # type: ignore[list-item]
    assert "other" not in built.benchmarks
    assert f"a benchmark before it has tasks of the same name: {taken}" in built.faults[0]


def test_another_packages_benchmark_is_added(tmp_path: Path) -> None:
    built = build_registry(OWN, [Announced("other", other(tmp_path, "other", "other_task"))])  # type: ignore[list-item]
    assert (built.tasks["other_task"].benchmark.name, built.tasks["other_task"].split) == ("other", "test")
    assert not built.faults


def test_a_real_entry_point_is_loaded() -> None:
    entry = EntryPoint("causal", f"{OWN[0].__class__.__module__}:Benchmark", "lmms_eval_tasks.benchmarks")
    assert "is a type, not a Benchmark" in build_registry([], [entry]).faults[0]


def test_a_benchmark_without_a_form_says_why() -> None:
    with pytest.raises(ValueError, match="or a reason for having none"):
        replace(OWN[0], submission=None)
    assert replace(OWN[0], submission=None, no_submission="It has no leaderboard.").submission is None
