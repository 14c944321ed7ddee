"""The registry: benchmarks of other packages, and what is said of those that cannot be used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

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
    for file, text in files.items():
        for old, new in changes:
            text = text.replace(old, new)
        (tmp_path / file).write_text(text)
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


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        (
            [("version: 1-A", "other: 1")],
            ["all.yaml, metadata.version: Expected", "mine.yaml, metadata.version: "],
        ),
        (
            [("- metric:", "- metrik:")],
            ["mine.yaml, metric_list.metric: Expected this field, but it is missing"],
        ),
        ([(METRIC, "acuracy")], [f"mine.yaml, metric_list: Expected one of {METRIC}"]),
        ([("doc_to_text:", "doc_to_txt:")], ["mine.yaml, doc_to_text: Expected this field, but it is missing"]),
        (
            [("test: pointer.json", "test: gone.json")],
            ["Expected a pointer file, but gone.json cannot be read: "],
        ),
        ([(f'"{SPLIT}"', '"totl"')], [f"pointer.json, split: Expected one of {SPLIT}, but got `totl`."]),
        ([("}", ', "kind": "totl"}')], ["pointer.json, kind: Expected one of ", "but got `totl`."]),
        ([("}", ', "sub": "x"}')], ["pointer.json, fields: Expected benchmark, split, subset and kind, but got `sub`"]),
        ([("- mine", "- mein")], ["all.yaml, task: Expected tasks of this folder, but got mein."]),
        (
            [("task: mine", "task: [")],
            ["mine.yaml: Expected a task's configuration in YAML, but got this: "],
        ),
    ],
)
def test_every_fault_of_a_file_is_named_with_what_is_allowed(
    tmp_path: Path, changes: list[tuple[str, str]], faults: list[str]
) -> None:
    built = build_registry(OWN, [Announced("odd", other(tmp_path, "other", "mine", changes=changes))])  # type: ignore[list-item]
    (fault,) = built.faults
    start = "The benchmark odd of the package package:odd cannot be used. The others work. The tasks of other, in"
    assert fault.startswith(f"{start} {tmp_path}, cannot be used: ")
    assert all(part in fault for part in faults), fault
    assert list(built.benchmarks) == [benchmark.name for benchmark in OWN]


def test_a_task_that_names_no_hook_is_refused(tmp_path: Path) -> None:
    built = build_registry(OWN, [Announced("odd", other(tmp_path, "other", "mine", HOOKS[:3]))])  # type: ignore[list-item]
    assert built.faults[0].endswith(
        "cannot be used: 2 problems.\n"
        "  mine.yaml, doc_to_target: Expected this field, but it is missing from the file.\n"
        "  mine.yaml, process_results: Expected this field, but it is missing from the file."
    )


def test_a_task_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    taken = next(iter(registry().tasks))
    built = build_registry(OWN, [Announced("odd", other(tmp_path, "other", taken))])  # type: ignore[list-item]
    assert "other" not in built.benchmarks
    assert f"a benchmark before it has tasks of the same name: {taken}" in built.faults[0]


def test_another_packages_benchmark_is_added(tmp_path: Path) -> None:
    built = build_registry(OWN, [Announced("other", other(tmp_path, "other", "other_task"))])  # type: ignore[list-item]
    assert (built.tasks["other_task"].benchmark.name, built.tasks["other_task"].split) == ("other", SPLIT)
    assert not built.faults


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


def test_a_leaderboard_ranks_by_the_first_split_of_a_benchmark() -> None:
    several = next(one for one in OWN if one.submission and len(one.card.splits) > 1)
    more = {split: f"key-{split}" for split in reversed(several.card.splits)}
    places = build_registry([on_leaderboards(several, joint=more)], []).leaderboards["joint"]
    assert [(place.split, place.key) for place in places] == list(more.items())
    assert [place.needed for place in places] == [True, *[False] * (len(places) - 1)]


@pytest.mark.parametrize(
    ("leaderboards", "why"),
    [
        ({"joint": {SPLIT: "first"}}, "the key first of joint is taken"),
        ({"joint": {"totl": "second"}}, "it has no split totl"),
        ({"joint": {SPLIT: "../up"}}, "'../up' is no plain name"),
        ({OWN[1].name: {SPLIT: "a"}}, f"the leaderboard {OWN[1].name} has the name of a benchmark"),
        (
            {"joint": {SPLIT: "", "totl": "first"}},
            "'' is no plain name; it has no split totl; the key first of joint is taken",
        ),
    ],
)
def test_a_leaderboard_that_cannot_take_a_benchmark(
    tmp_path: Path, leaderboards: Mapping[str, Mapping[str, str]], why: str
) -> None:
    own = on_leaderboards(OWN[0], joint={SPLIT: "first"})
    joining = on_leaderboards(other(tmp_path, "other", "other_task"), **leaderboards)
    built = build_registry([own, *OWN[1:]], [Announced("other", joining)])  # type: ignore[list-item]
    assert "other" not in built.benchmarks and f"ValueError: {why})" in built.faults[0]


def test_a_leaderboard_takes_no_benchmark_without_a_form(tmp_path: Path) -> None:
    joining = on_leaderboards(other(tmp_path, "other", "other_task"), joint={SPLIT: "first"})
    joining = replace(joining, submission=None, no_submission="It has none.")
    built = build_registry(OWN, [Announced("other", joining)])  # type: ignore[list-item]
    assert "a leaderboard takes it, but it has no form of submission" in built.faults[0]
    named = other(tmp_path, "joint", "other_task")
    built = build_registry([on_leaderboards(OWN[0], joint={SPLIT: "first"})], [Announced("joint", named)])  # type: ignore[list-item]
    assert "the name joint is a leaderboard's" in built.faults[0]


def test_a_real_entry_point_is_loaded() -> None:
    entry = EntryPoint("causal", f"{OWN[0].__class__.__module__}:Benchmark", "lmms_eval_tasks.benchmarks")
    assert "is a type, not a Benchmark" in build_registry([], [entry]).faults[0]


def test_a_benchmark_without_a_form_says_why() -> None:
    with pytest.raises(ValueError, match="or a reason for having none"):
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


@pytest.mark.slow
def test_every_benchmark_is_there_without_the_extras() -> None:
    """MuJoCo and diffusers come with extras."""
    code = (
        "import sys; sys.modules.update(mujoco=None, diffusers=None)\n"
        "from lmms_eval_tasks.registry import registry\n"
        "assert 'worlds' in registry().benchmarks and not registry().faults, registry().faults"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
