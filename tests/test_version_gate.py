"""Task versions: the kept digests are right, and a change that can move numbers fails without a new N."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import add_examples
import pytest
import version_gate
from refusals import refusal
from version_gate import COMMAND, DIGESTS, EXAMPLES, measure_all

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing import version_gate as version_gate_module
from lmms_eval_tasks.testing.examples import read_examples, read_file
from lmms_eval_tasks.testing.version_gate import PARTS, Entries, describe_new, find_changes, major

TESTS = Path(__file__).parent
renew = partial(version_gate_module.renew, command=COMMAND)
read_kept = partial(version_gate_module.read_kept, command=COMMAND)
TASK_PARTS = {"version", "prompts", "generation", "schema", "scores"}


@pytest.fixture(scope="module")
def measured() -> tuple[Entries, dict[str, str]]:
    return measure_all()


@pytest.fixture
def now(measured: tuple[Entries, dict[str, str]]) -> Entries:
    return copy.deepcopy(measured[0])


@pytest.fixture
def labels(measured: tuple[Entries, dict[str, str]]) -> dict[str, str]:
    return measured[1]


@pytest.mark.slow
def test_kept_digests_are_those_of_this_package(now: Entries, labels: dict[str, str], tmp_path: Path) -> None:
    path = Path(shutil.copy(DIGESTS, tmp_path))
    renew(path, now, labels)
    assert path.read_bytes() == DIGESTS.read_bytes(), "run `make versions`"

    own = [registry().tasks_of(name) for name in version_gate.own_benchmarks()]
    groups = {name for name, (members, _) in registry().groups.items() if any(members[0] in tasks for tasks in own)}
    assert now.keys() == {*groups, *(name for tasks in own for name in tasks)}
    for name, entry in now.items():
        assert registry().find_version(name) == entry["version"] and major(entry["version"]) >= 1
        assert {*entry} == ({"version", "tasks", "means"} if "tasks" in entry else TASK_PARTS)


def test_every_version_has_its_line_on_the_benchmarks_page() -> None:
    for name in version_gate.own_benchmarks():
        page = registry().benchmarks[name].folder / "README.md"
        entries = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
        for task in registry().tasks_of(name).values():
            assert any(task.version in entry.partition(":")[0] for entry in entries), task.name


def test_every_recorded_response_is_an_example() -> None:
    answers = json.loads(add_examples.RECORDED.read_text(encoding="utf-8"))
    assert add_examples.add_answers(read_file(EXAMPLES / "answers.json"), answers) == 0, (
        "run `make version-examples versions`"
    )
    cases = TESTS / "utils" / "answers" / "evidence" / "cases"
    evidence = json.loads((cases / "diagnosis.json").read_text(encoding="utf-8"))
    examples = [case["response"] for case in read_file(EXAMPLES / "cast_bench.json")["cases"]]
    assert [case["name"] for case in evidence["cases"] if case["text"] not in examples] == []
    # The row changes that benchmarks choose of a shared file are all of them, so that no response is left out.
    chosen = {
        change
        for benchmark in version_gate.own_benchmarks()
        for change in read_file(EXAMPLES / f"{benchmark}.json").get("shared", {}).get("answers", ())
    }
    assert chosen == set(read_file(EXAMPLES / "answers.json")["row changes"])


@pytest.mark.slow
def test_examples_differ_and_tell_every_score_apart(now: Entries) -> None:
    for benchmark in version_gate.own_benchmarks():
        keys = [example.key for example in read_examples(EXAMPLES / f"{benchmark}.json")[1]]
        assert len(keys) == len(set(keys)), benchmark
    for name, entry in now.items():
        for score in {score for scores in entry.get("scores", {}).values() for score in scores}:
            assert len({scores.get(score) for scores in entry["scores"].values()}) > 1, (name, score)


def change(entries: Entries, version: str, part: str) -> None:
    """Give `yocausal`, or of the part that groups have `mvp` and its tasks, another version and a changed part."""
    name = "mvp" if part == "means" else "yocausal"
    for each in (name, *entries[name].get("tasks", ())):
        entries[each]["version"] = version
    kept = entries[name][part]
    if part == "scores":
        next(iter(kept.values()))["cci"] = 12.5
    elif isinstance(kept, dict):
        kept[next(iter(kept))] = "changed"
    else:
        entries[name][part] = "changed"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.slow
def test_a_changed_part_needs_a_new_n(part: str, now: Entries, labels: dict[str, str], tmp_path: Path) -> None:
    path, before = tmp_path / "digests.json", copy.deepcopy(now)
    name = "mvp" if part == "means" else "yocausal"
    assert set(renew(path, now, labels)) == set(now)
    written = path.read_bytes()
    number = int(now[name]["version"].partition("-")[0])
    kept = now[name]["version"]
    for version in (f"{number}-A", f"{number}-B"):
        change(now, version, part)
        message = refusal(renew, path, now, labels)
        example = " (run 0)" if part == "scores" else ""
        assert f"{name}: Expected N to be raised, because these changed: {PARTS[part]}{example}." in message
        assert "`make versions`" in message and path.read_bytes() == written
    change(now, f"{number + 1}-A", part)
    assert name in renew(path, now, labels)
    assert renew(path, now, labels) == []
    lowered = f"Expected N not to be lowered, but got {kept} after {number + 1}-A"
    assert lowered in refusal(renew, path, before, labels)


@pytest.mark.slow
def test_what_is_new_changes_nothing_that_was_kept(now: Entries, labels: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "digests.json"
    renew(path, now, labels)
    task = now["yocausal"]
    task["prompts"]["one more"] = "0"
    task["scores"]["one more"] = {}
    for scores in task["scores"].values():
        scores["one_more"] = 1.0
    now["mvp"]["means"]["one_more"] = "0"
    assert find_changes(now, read_kept(path)) == {}
    version = task["version"]
    assert describe_new(now, read_kept(path)) == [
        f"yocausal {version}: one_more is new. Raise X, as from 2-A to 2-B; N stays."
    ]
    task["version"] = f"{version[:-1]}Z"
    assert describe_new(now, read_kept(path)) == []
    task["version"] = version
    assert set(renew(path, now, labels)) == {"mvp", "yocausal"}
    del task["scores"]["one more"], now["mvp"]["means"]["one_more"]
    assert find_changes(now, read_kept(path)) == {"yocausal": {"scores": ["one more"]}, "mvp": {"means": ["one_more"]}}


@pytest.mark.slow
def test_scores_that_are_gone_and_versions_and_digests_that_are_wrong(
    now: Entries, labels: dict[str, str], tmp_path: Path
) -> None:
    path, before = tmp_path / "digests.json", copy.deepcopy(now)
    renew(path, now, labels)
    for scores in now["yocausal"]["scores"].values():
        del scores["cci"]
    assert set(find_changes(now, read_kept(path))) == {"yocausal"}
    held = now["mvp"]["version"]
    for name, version, message in (
        ("yocausal", "2", "yocausal: Expected a version N-X, such as 2-A, but got '2'."),
        ("mvp_temporal_reasoning", "9-A", f"mvp: Expected the version of its tasks, {held}, 9-A, but got {held}."),
    ):
        wrong = copy.deepcopy(before)
        wrong[name]["version"] = version
        assert message in refusal(renew, tmp_path / "other.json", wrong, labels)
    path.write_text("<<<<<<< HEAD\n{}\n", encoding="utf-8")
    assert re.search(r"git checkout BRANCH -- \S*digests\.json", refusal(read_kept, path))


CHANGES = {
    # What moves no number is no change, however it is written: these two are of every task.
    "utils/scoring/metrics.py": ("    return fsum(known) / len(known) if", "    return (fsum(known) / len(known)) if"),
    "cli/report.py": ("Scores in percent", "All scores in percent"),
    "causalvqa/benchmark.py": ("    return letter[1]", "    letter = None\n    return letter[1]"),
    "prompts/clip_direction.txt": ("turned around", "turned round"),
    "prompts/cast_bench_judge.txt": ("0", "zero"),
    "mvp/_pairs_template_yaml": ("max_new_tokens: 1024", "max_new_tokens: 16"),
    "cast_bench/benchmark.py": ('"width": pa.int64()', '"width": pa.int32()'),
}
CHANGED = [
    "cast_bench: Expected N to be raised, because these changed: data schema.",
    "cast_bench_open: Expected N to be raised, because these changed: rendered prompts, data schema.",
    "causalvqa_debug_paired, causalvqa_paired: Expected N to be raised, because these changed: scores of examples (",
    "mvp_human_object_interactions, mvp_intuitive_physics, mvp_mini_human_object_interactions, mvp_mini_intuitive_phys",
    "yocausal_vlm: Expected N to be raised, because these changed: rendered prompts.",
]


@pytest.mark.slow
@pytest.mark.nightly  # all is measured a second time
@pytest.mark.slow
def test_the_command_on_a_changed_package(now: Entries, labels: dict[str, str], tmp_path: Path) -> None:
    package, digests = tmp_path / "lmms_eval_tasks", tmp_path / "digests.json"
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(lmms_eval_tasks.__file__).parent, package, ignore=leave)
    renew(digests, now, labels)
    for file, (old, new) in CHANGES.items():
        text = (package / file).read_text(encoding="utf-8")
        assert old in text
        (package / file).write_text(text.replace(old, new, 1 if "return" in old else -1), encoding="utf-8")
    failed = subprocess.run(
        [sys.executable, version_gate.__file__, "--digests", str(digests)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (failed.returncode, failed.stdout) == (1, "")
    head, *lines = failed.stderr.strip().splitlines()
    assert head == f"Versions of tasks do not match what was kept: {len(CHANGED)} problems, nothing was written."
    for line, expected in zip(lines, CHANGED, strict=False):
        assert line.strip().startswith(expected), failed.stderr


def test_a_benchmark_of_another_package_is_not_measured_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = version_gate.own_benchmarks()
    assert ours == sorted(path.stem for path in EXAMPLES.glob("*.json") if path.stem in registry().benchmarks)
    other = replace(registry().benchmarks["mvp"], folder=tmp_path)
    known = replace(registry(), benchmarks={**registry().benchmarks, "lamps": other})
    monkeypatch.setattr(version_gate, "registry", lambda: known)
    assert version_gate.own_benchmarks() == ours
