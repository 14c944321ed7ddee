"""Task versions: kept digests are right, and a change that can move numbers fails without a new N."""

from __future__ import annotations

import copy
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import version_gate
from version_gate import DIGESTS, NUMBERS, PARTS, Kept, check, digest_all, major, read_kept, renew, source_of

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.registry import read_card, registry
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.core.problems import InputError

REASON = "Only the spelling of a warning changed, which no score reads."


@pytest.fixture(scope="module")
def now() -> Kept:
    return digest_all()


def test_kept_digests_are_those_of_this_package(now: Kept) -> None:
    check(now, read_kept(DIGESTS))


def test_every_task_has_one_version_and_digests(now: Kept) -> None:
    named = {
        name: version for benchmark in registry().benchmarks for name, version in read_card(benchmark).versions.items()
    }
    assert named == {name: one["version"] for name, one in now["tasks"].items()}
    for one in now["tasks"].values():
        assert major(one["version"]) >= 1 and {*one} == {"version", *PARTS}


def test_every_version_has_its_line_on_the_benchmarks_page() -> None:
    for benchmark in registry().benchmarks:
        page = Path(lmms_eval_tasks.__file__).parent / benchmark / "README.md"
        entries = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
        for version in read_card(benchmark).versions.values():
            assert any(version in entry.partition(":")[0] for entry in entries), (benchmark, version)


def test_members_of_a_group_have_its_version() -> None:
    for benchmark in registry().benchmarks:
        configs = task_configs(benchmark)
        versions = read_card(benchmark).versions
        for name, config in configs.items():
            if "group" in config:
                assert {versions[member] for member in config["task"]} == {versions[name]}


def reads_letters(task: str) -> bool:
    """Whether a task scores letters in free text; CaST-Bench's diagnosis of broken evidence does."""
    return task.startswith(("causalvqa", "mvp")) or task in ("cast_bench", "yocausal_vlm")


def test_each_task_hangs_on_what_its_scores_are_made_from() -> None:
    modules = {
        name: {module.removeprefix("lmms_eval_tasks.") for module in source_of(config).modules}
        for benchmark in registry().benchmarks
        for name, config in task_configs(benchmark).items()
        if "group" not in config
    }
    for name, found in modules.items():
        assert ("utils.answers.reader" in found) == reads_letters(name), name
        assert ("utils.rsi" in found) == (name == "yocausal"), name
        assert ("utils.grounding" in found) == (name == "cast_bench"), name
        assert ("utils.judge" in found) == (name == "cast_bench_open"), name
        assert not found & {"utils.home", "hosting", "plugin", "report", "utils.bootstrap"}, name


def raised(kept: Kept, version: str, *parts: str, digest: str = "other") -> Kept:
    """The same with another version of `yocausal`, and other digests of these parts."""
    changed = copy.deepcopy(kept)
    task = changed["tasks"]["yocausal"]
    others = {part: {**task[part], "cci": digest} if part == NUMBERS else digest for part in parts}
    task |= {"version": version, **others}
    return changed


@pytest.mark.parametrize("part", PARTS)
def test_a_moved_part_needs_a_new_n(part: str, now: Kept, tmp_path: Path) -> None:
    path = tmp_path / "digests.json"
    assert set(renew(path, now)) == set(now["tasks"])
    before = path.read_bytes()
    for version in ("1-A", "1-B"):
        with pytest.raises(InputError) as caught:
            renew(path, raised(now, version, part))
        assert f"yocausal: Expected N to rise, because these moved: {PARTS[part]}." in str(caught.value)
        assert "`make versions`" in str(caught.value) and path.read_bytes() == before
    later = raised(now, "2-A", part)
    with pytest.raises(InputError, match=r"Versions were raised, .*\(yocausal\): run `make versions`"):
        check(later, read_kept(path))
    assert renew(path, later) == ["yocausal"]
    check(later, read_kept(path))
    with pytest.raises(InputError, match="yocausal: Expected N not to go back, but got 1-A after 2-A"):
        renew(path, now)


def test_moved_without_a_number_moving_needs_a_written_reason(now: Kept, tmp_path: Path) -> None:
    path = tmp_path / "digests.json"
    renew(path, now)
    later = raised(now, "1-A", "source")
    with pytest.raises(InputError, match="Expected a reason of 20 letters or more, for readers, but got 'refactor'"):
        renew(path, later, "refactor")
    assert renew(path, later, REASON) == ["yocausal"]
    assert read_kept(path)["equivalent"] == [{"reason": REASON, "moved": {"yocausal": ["source"]}}]
    check(later, read_kept(path))
    # The reason covers what it was given for, and nothing after it.
    with pytest.raises(InputError, match="Expected N to rise"):
        check(raised(now, "1-A", "source", digest="another"), read_kept(path))
    assert renew(path, later, REASON) == [] and len(read_kept(path)["equivalent"]) == 1


def test_no_reason_helps_where_a_score_of_the_examples_moved(now: Kept, tmp_path: Path) -> None:
    path = tmp_path / "digests.json"
    renew(path, now)
    before = path.read_bytes()
    later = raised(now, "1-A", "source", NUMBERS)
    with pytest.raises(InputError, match=r"but the scores of the examples did \(yocausal\)"):
        renew(path, later, REASON)
    assert path.read_bytes() == before
    # With other examples they say nothing.
    assert renew(path, {**later, "examples": "other"}, REASON) == ["yocausal"]


def test_one_score_more_moves_no_number(now: Kept, tmp_path: Path) -> None:
    path = tmp_path / "digests.json"
    renew(path, now)
    later = copy.deepcopy(now)
    later["tasks"]["yocausal"][NUMBERS]["one_more"] = "0"
    with pytest.raises(InputError, match="tasks or scores came or went"):
        check(later, read_kept(path))
    assert renew(path, later) == ["yocausal"]
    del later["tasks"]["yocausal"][NUMBERS]["cci"]
    with pytest.raises(InputError, match=r"these moved: scores of the examples\."):
        renew(path, later)


def test_a_version_of_another_form_is_refused(now: Kept, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="yocausal: Expected a version N-X, as 2-A, but got '2'"):
        renew(tmp_path / "digests.json", raised(now, "2"), REASON)


def test_digests_with_a_merge_conflict_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "version_digests.json"
    path.write_text("<<<<<<< HEAD\n{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"git checkout BRANCH -- tests/version_digests\.json"):
        read_kept(path)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory, now: Kept) -> Path:
    """A copy of the package as it is installed, with its digests beside it."""
    root = tmp_path_factory.mktemp("copy")
    package = root / "lmms_eval_tasks"
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(lmms_eval_tasks.__file__).parent, package, ignore=leave)
    for name in ("utils", "prompts"):
        file = importlib.import_module(f"lmms_eval_tasks.{name}").__file__
        assert file is not None
        shutil.copytree(Path(file).parent, package / name, ignore=leave, dirs_exist_ok=True)
    renew(root / "digests.json", now)
    return root


def gate(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, on the package in a folder."""
    command = [sys.executable, version_gate.__file__, "--digests", str(root / "digests.json"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def edit(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text(encoding="utf-8")
    changed = change(text)
    assert changed != text, path
    path.write_text(changed, encoding="utf-8")


def swap(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


CAUSALVQA, MVP = ("_paired_template_yaml",), ("_pairs_template_yaml", "mvp.yaml", "mvp_mini.yaml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "change", "moved", "templates"),
    [
        (
            "causalvqa/official.py",
            lambda text: text.replace("\n    return ", "\n    text = text.lower()\n    return ", 1),
            "causalvqa_debug_paired, causalvqa_paired: Expected N to rise, because these moved: scorer source (causalv",
            {"causalvqa": CAUSALVQA},
        ),
        (
            "prompts/mcq_letter.txt",
            swap("Exactly one", "Only one"),
            "causalvqa_debug_paired, causalvqa_paired: Expected N to rise, because these moved: rendered prompts.",
            {"causalvqa": CAUSALVQA},
        ),
        (
            "mvp/_pairs_template_yaml",
            swap("max_new_tokens: 1024", "max_new_tokens: 16"),
            "mvp, mvp_human_object_interactions, mvp_intuitive_physics, mvp_mini, mvp_mini_human_object_interactions, "
            "… and 5 more: Expected N to rise, because these moved: generation settings.",
            {"mvp": MVP},
        ),
        (
            "cast_bench/prepare.py",
            swap('"width": pa.int64()', '"width": pa.int32()'),
            "cast_bench, cast_bench_open: Expected N to rise, because these moved: data schema.",
            {"cast_bench": ("_evidence_template_yaml", "_open_template_yaml")},
        ),
    ],
    ids=["scorer", "prompt", "generation", "schema"],
)
def test_such_a_change_fails_without_a_new_n_and_passes_with_one(
    file: str,
    change: Callable[[str], str],
    moved: str,
    templates: dict[str, tuple[str, ...]],
    pristine: Path,
    tmp_path: Path,
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(pristine, root)
    edit(root / "lmms_eval_tasks" / file, change)
    failed = gate(root, "--check")
    assert (failed.returncode, failed.stdout) == (1, "")
    head, told = failed.stderr.strip().splitlines()
    assert head == "Versions of tasks and what they stand for disagree: 1 problem."
    assert told.startswith(f"  {moved}") and "make versions" in told
    for benchmark, names in templates.items():
        for name in names:
            edit(root / "lmms_eval_tasks" / benchmark / name, swap("version: 1-A", "version: 2-A"))
    renewed = gate(root)
    assert renewed.returncode == 0, renewed.stderr
    kept = json.loads((root / "digests.json").read_text(encoding="utf-8"))["tasks"]
    assert {one["version"] for name, one in kept.items() if name.startswith(tuple(templates))} == {"2-A"}
    assert gate(root, "--check").returncode == 0


@pytest.mark.slow
def test_a_reader_of_letters_counts_for_those_tasks_that_read_letters(pristine: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(pristine, root)
    edit(root / "lmms_eval_tasks/utils/answers/text.py", lambda text: text.replace("return ", "return None or ", 1))
    assert gate(root, "--equivalent", REASON).returncode == 0
    kept = read_kept(root / "digests.json")
    (entry,) = kept["equivalent"]
    assert set(entry["moved"]) == set(filter(reads_letters, kept["tasks"]))
    assert {tuple(parts) for parts in entry["moved"].values()} == {("source",)}
    # This one moves numbers, and says otherwise.
    edit(root / "lmms_eval_tasks/utils/scoring/groups.py", swap("100.0 * self.items_right", "99.0 * self.items_right"))
    refused = gate(root, "--equivalent", REASON)
    assert refused.returncode == 1 and refused.stderr.startswith("Expected no number to move, but the scores of the")


def test_what_moves_no_number_does_not_fail(pristine: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(pristine, root)
    package = root / "lmms_eval_tasks"
    edit(package / "cli/report.py", swap("Scores in percent", "All scores in percent"))
    edit(package / "sample/build.py", lambda text: f"{text}\n\nMADE_UP = True\n")
    edit(package / "utils/data/home.py", swap("are missing", "cannot be found"))
    edit(package / "causalvqa/card.py", swap("evaluation only", "for evaluation only"))
    # The same definitions written otherwise: comments, docstring, blank lines, hints, order.
    groups = package / "utils/scoring/groups.py"
    edit(groups, swap("def total(counts: Iterable[int | None]", "# counts\n\n\ndef total(counts"))
    edit(groups, swap('"""Sum field by field."""', '"""Field by field."""'))
    edit(groups, swap("    return sum(values) / len(values) if", "\n    return (sum(values) / len(values)) if"))
    whole = groups.read_text(encoding="utf-8")
    start, end = whole.index("def pair_accuracy(credits"), whole.index("def pairs_scored(")
    groups.write_text(whole[:start] + whole[end:] + "\n\n" + whole[start:end].rstrip() + "\n", encoding="utf-8")
    passed = gate(root, "--check")
    assert passed.returncode == 0, passed.stderr
