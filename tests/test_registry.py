"""The registry: benchmarks of other packages, and what is said of those that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from expected import Expected

from lmms_eval_tasks.registry import build_registry, registry
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS

OWN = list(registry().benchmarks.values())
METRIC = next(iter(OWN[0].kinds.values())).metrics[0].name
SPLIT = next(iter(OWN[0].card.splits))


class Announced:
    """An entry point that gives what a test wants."""

    dist = None

    def __init__(self, name: str, found: Any) -> None:
        self.name, self.value, self._found = name, f"package:{name}", found

    def load(self) -> Any:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def other(
    tmp_path: Path, name: str, task: str, hooks: Sequence[str] = HOOKS, changes: Sequence[tuple[str, str]] = ()
) -> Benchmark:
    """A benchmark of one task and one group; `changes` are what its files have, and what they have instead."""
    named = "".join(f"{hook}: !function mine.hooks.{hook}\n" for hook in hooks)
    files = {
        "pointer.json": f'{{"benchmark": "{name}", "split": "{SPLIT}"}}',
        f"{task}.yaml": f"task: {task}\ndataset_kwargs:\n  data_files:\n    test: pointer.json\n"
        f"{named}metric_list:\n  - metric: {METRIC}\n    aggregation: !function mine.hooks.aggregate\n"
        "metadata:\n  version: 1-A\n",
        "all.yaml": f"group: {task}_all\ntask:\n  - {task}\naggregate_metric_list:\n  - metric: {METRIC}\n"
        "metadata:\n  version: 1-A\n",
    }
    # What a folder holds is read once.
    folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    for file, text in files.items():
        for old, new in changes:
            text = text.replace(old, new)
        (folder / file).write_text(text)
    return replace(OWN[0], card=replace(OWN[0].card, name=name), folder=folder)


def fault_of(name: str, found: Any, benchmarks: Sequence[Benchmark] = OWN) -> str:
    """What is said of a benchmark that is announced and cannot be used; the others stay."""
    built = build_registry(benchmarks, [Announced(name, found)])  # type: ignore[list-item]
    assert list(built.benchmarks) == [benchmark.name for benchmark in benchmarks]
    (fault,) = built.faults
    return fault


CHANGES = [
    ("version: 1-A", "other: 1"),
    ("- metric:", "- metrik:"),
    (METRIC, "acuracy"),
    ("doc_to_text:", "doc_to_txt:"),
    ("test: pointer.json", "test: gone.json"),
    (f'"{SPLIT}"', '"totl"'),
    ("}", ', "kind": "totl"}'),
    ("}", ', "sub": "x"}'),
    ("- mine", "- mein"),
    ("task: mine", "task: 5"),
]


def test_what_cannot_be_used_is_named_with_what_is_allowed_and_left_out(tmp_path: Path, expected: Expected) -> None:
    said = [fault_of("odd", found) for found in (ImportError("no module named x"), "a text", OWN[0])]
    said += [fault_of("odd", other(tmp_path, "other", "mine", changes=[change])) for change in CHANGES]
    said += [fault_of("odd", other(tmp_path, "other", "mine", HOOKS[:3]))]
    said += [fault_of("odd", other(tmp_path, "other", next(iter(registry().tasks))))]
    expected(re.sub(rf"one of {METRIC}, [\w, ]+, but", "one of …, but", "\n\n".join(said)))
    no_yaml = fault_of("odd", other(tmp_path, "other", "mine", changes=[("task: mine", "task: [")]))
    assert "mine.yaml: Expected a task's configuration in YAML, but got this: " in no_yaml


def test_another_packages_benchmark_is_added(tmp_path: Path) -> None:
    built = build_registry(OWN, [Announced("other", other(tmp_path, "other", "other_task"))])  # type: ignore[list-item]
    assert (built.tasks["other_task"].benchmark.name, built.tasks["other_task"].split) == ("other", SPLIT)
    assert not built.faults
    entry = EntryPoint("causal", f"{OWN[0].__class__.__module__}:Benchmark", "lmms_eval_tasks.benchmarks")
    assert "is a type, not a Benchmark" in build_registry([], [entry]).faults[0]


def on_leaderboards(benchmark: Benchmark, **leaderboards: Mapping[str, str]) -> Benchmark:
    return replace(benchmark, card=replace(benchmark.card, leaderboards=leaderboards))


def test_another_packages_benchmark_joins_a_leaderboard(tmp_path: Path) -> None:
    own = on_leaderboards(OWN[0], joint={SPLIT: "first"})
    joining = on_leaderboards(other(tmp_path, "other", "other_task"), joint={SPLIT: "second"}, alone={SPLIT: "only"})
    built = build_registry([own, *OWN[1:]], [Announced("other", joining)])  # type: ignore[list-item]
    assert not built.faults
    told = {name: [(one.key, one.benchmark.name) for one in found] for name, found in built.leaderboards.items()}
    assert told["joint"] == [("first", own.name), ("second", "other")] and told["alone"] == [("only", "other")]
    assert all(place.needed for place in built.leaderboards["joint"])
    # A benchmark is ranked by the first of its splits.
    several = next(one for one in OWN if one.submission and len(one.card.splits) > 1)
    more = {split: f"key-{split}" for split in reversed([*several.card.splits])}
    places = build_registry([on_leaderboards(several, joint=more)], []).leaderboards["joint"]
    assert [(place.split, place.key) for place in places] == list(more.items())
    assert [place.needed for place in places] == [True, *[False] * (len(places) - 1)]


def test_a_leaderboard_that_cannot_take_a_benchmark(tmp_path: Path, expected: Expected) -> None:
    joint = [on_leaderboards(OWN[0], joint={SPLIT: "first"}), *OWN[1:]]
    joining = other(tmp_path, "other", "other_task")
    leaderboards: list[dict[str, dict[str, str]]] = [
        {"joint": {SPLIT: "first"}},
        {"joint": {"totl": "second"}},
        {"joint": {SPLIT: "../up"}},
        {OWN[1].name: {SPLIT: "a"}},
        {"joint": {SPLIT: "", "totl": "first"}},
    ]
    said = [fault_of("odd", on_leaderboards(joining, **one), joint) for one in leaderboards]
    without = replace(on_leaderboards(joining, joint={SPLIT: "first"}), submission=None, no_submission="It has none.")
    said += [fault_of("odd", without), fault_of("joint", other(tmp_path, "joint", "other_task"), joint)]
    expected("\n".join(said))


def test_a_benchmark_without_a_form_says_why() -> None:
    with pytest.raises(ValueError, match="Expected submission=…, or no_submission="):
        replace(OWN[0], submission=None)
    assert replace(OWN[0], submission=None, no_submission="It has no leaderboard.").submission is None


def test_a_users_variant_replaces_an_earlier_one_of_its_name_but_no_task_of_ours() -> None:
    built = build_registry(OWN, [])
    pointer = {"benchmark": OWN[0].name, "split": SPLIT}
    own = next(iter(built.tasks))
    for version in ("1-A", "2-A"):
        config = {"metric_list": [{"metric": METRIC}], "metadata": {"version": version}}
        for name in ("variant", own):
            built.derive(name, pointer, config)
    assert built.derived["variant"].config == config and own not in built.derived
