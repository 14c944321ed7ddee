"""What is wrong with somebody else's benchmark is said in its own terms: the example, spoilt by one edit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import call
from docs import ROOT

from lmms_eval_tasks.prompting import _prompt_files, read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import _files, _installed_file, task_configs

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "benchmark_plugin" / "lamp_side"
PENDULUMS = ROOT / "examples" / "pendulum_plugin" / "pendulums"
COMMAND = Path(sysconfig.get_path("scripts")) / "lmms-eval-tasks"
BENCHMARK, HOOKS, YAML = "benchmark.py", "hooks.py", "lamp_side.yaml"


def install(root: Path, example: Path = EXAMPLE) -> Path:
    """An example, as if it were installed in a folder; its package."""
    name = example.name
    package = root / "site" / name
    shutil.copytree(example, package, ignore=shutil.ignore_patterns("__pycache__"))
    facts = root / "site" / f"{name}-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (facts / "entry_points.txt").write_text(f"[lmms_eval_tasks.benchmarks]\n{name} = {name}.benchmark:BENCHMARK\n")
    return package


Run = Callable[..., tuple[int, str, str]]


def variables(root: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(root / "site"), "LMMS_EVAL_TASKS_HOME": str(root / "home"), "COLUMNS": "1000"}


def forget() -> None:
    """Whatever is known of packages, which a test has installed or changed."""
    for name in [name for name in sys.modules if name.partition(".")[0] in (EXAMPLE.name, PENDULUMS.name)]:
        del sys.modules[name]
    for known in (registry, task_configs, _files, _installed_file, _prompt_files, read_prompt):
        known.cache_clear()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a command in the test's folder, knowing what is installed there; its status, and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    # A file that is changed within a second would be read as it was.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(*words: str) -> tuple[int, str, str]:
        forget()
        return call(*words)

    yield run
    monkeypatch.undo()
    forget()


def run_anew(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own: those of each benchmark are made when the command line is imported."""
    environment = {**os.environ, **variables(folder)}
    return subprocess.run([str(COMMAND), *words], cwd=folder, env=environment, capture_output=True, text=True)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


def swap(file: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda package: edit(package / file, old, new)


def misspell_placeholder(package: Path) -> None:
    (package / "prompts").mkdir()
    (package / "prompts" / "lamp.txt").write_text("{question}\n{optoins}\n")
    edit(package / YAML, "prompt: mcq_letter", "prompt: lamp")


def own_hook(name: str, parameters: str, result: str) -> Callable[[Path], None]:
    """The example's module of hooks gets one that its YAML names in place of the shared one."""

    def write(package: Path) -> None:
        edit(package / YAML, f"lmms_eval_tasks.api.hooks.{name}", f"lamp_side.hooks.{name}")
        grade = "grade = choice_grader()\n"
        edit(package / HOOKS, grade, f"{grade}\n\n@hook\ndef {name}({parameters}) -> Any:\n    return {result}\n")

    return write


SPOILT = {
    "an unknown score": swap(YAML, "metric: left_rate", "metric: left_share"),
    "no version": swap(YAML, "metadata:\n  version: 1-A\n", ""),
    "a misspelt field": swap(BENCHMARK, "    prepare=prepare,", "    prepar=prepare,"),
    "a hook that is not there": swap(YAML, "lamp_side.hooks.process_results", "lamp_side.hooks.proces_results"),
    "hooks that cannot be imported": swap(HOOKS, "grade = choice_grader()", "grade = choice_grder()"),
    "a score that cannot be read": swap(
        BENCHMARK, 'record.answered == SIDES["left"]', 'record.fields["totl"] == SIDES["left"]'
    ),
    "a score out of bounds": swap(BENCHMARK, "100.0 * (record", "250.0 * (record"),
    "a pointer that is missing": swap(YAML, "pointers/test.json", "pointers/tst.json"),
    "a kind without a task": swap(
        BENCHMARK,
        "    kinds={\n",
        '    kinds={\n        "pairs": TaskKind(metrics=(PAIR_ACCURACY,)),\n'
        '        "timed": TaskKind(metrics=(SINGLE_ACCURACY,)),\n',
    ),
    "an unknown placeholder": misspell_placeholder,
    "a prompt that cannot be made": own_hook(
        "doc_to_text",
        "task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Any = None",
        'task.put(doc, lmms_eval_specific_kwargs, lambda row, settings: row["questoin"])',
    ),
    "an answer that cannot be graded": swap(
        HOOKS,
        "return task.grade_first(doc, results, grade)",
        'return {**task.grade_first(doc, results, grade), "more": doc["totl"]}',
    ),
    "a submission of another form": swap(BENCHMARK, '{"id": row["item_id"]}', '{"identity": row["item_id"]}'),
    "a submission that its own check refuses": swap(
        BENCHMARK, 'answer: Literal["A", "B", ""]', 'answer: Literal["left", "right", ""]'
    ),
    "guesses that cannot be read": swap(
        BENCHMARK, 'members="clips",', 'members="clips",\n            guesses=lambda row: ("2.5",),'
    ),
    "an aggregation of its own": own_hook("aggregate", "metric: Any, items: Sequence[Any]", "metric.score(items[:5])"),
    "a leaderboard that takes a split of no task": swap(
        BENCHMARK,
        '    splits={"test":',
        '    leaderboards={"joint": {"more": "lamps"}},\n    splits={"more": SplitFacts(items=12), "test":',
    ),
    "an unknown view": swap(BENCHMARK, '"single_frame", "shuffled"', '"singleframe", "shuffled"'),
    "a version that stands for two things": swap(YAML, "max_new_tokens: 64", "max_new_tokens: 16"),
}


def first_problem(errors: str) -> str:
    """The first problem with its heading, without the numbers of the example's lines, and without what is prepared."""
    unprepared = ("Lamp side is not prepared", "Run:", "To try")
    lines = [line for line in errors.strip().splitlines() if not line.startswith(unprepared)]
    return re.sub(r"line \d+", "line N", "\n".join(lines[:2]))


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_wrong_is_said_in_one_line(name: str, expected: Any, run: Run, tmp_path: Path) -> None:
    SPOILT[name](install(tmp_path))
    status, printed, errors = run("check", "lamp_side", "--thorough")
    assert status == 1 and "Traceback" not in printed + errors
    expected(first_problem(errors))


def test_nothing_is_wrong_with_the_example_and_what_is_kept_is_its_own(run: Run, tmp_path: Path) -> None:
    install(tmp_path)
    status, printed, errors = run("check", "lamp_side", "--thorough", "--keep")
    assert status == 1 and errors.strip().startswith("Lamp side is not prepared: ") and not first_problem(errors)
    assert "lamp_side: 4 example rows, 4 examples" in printed and "version_digests.json, unchanged" in printed
    assert run("check", "--thorough", "--keep")[2].startswith("Expected --keep with --thorough and the names")


OWN_HOOK = """

@api.hook
def {name}(task, doc, results):
    assert bool(doc["options"]) is {options}
    return task.grade_first(doc, results, {grade})
"""


def test_rows_are_checked_by_the_tasks_that_ask_them(run: Run, tmp_path: Path) -> None:
    """Each task of the pendulums is given a hook that only grades its own rows, and no module lists its names."""
    package = install(tmp_path, PENDULUMS)
    hooks = package / "hooks.py"
    text = re.sub(r"__all__ = .*", "", hooks.read_text(encoding="utf-8").split("@api.hook")[0])
    for name, options, grade in (("slowest", True, "grade_choice"), ("period", False, "grade_seconds")):
        text += OWN_HOOK.format(name=name, options=options, grade=grade)
        edit(package / f"pendulums_{name}.yaml", "hooks.process_results", f"hooks.{name}")
    hooks.write_text(text, encoding="utf-8")
    assert run_anew(tmp_path, "sample", "pendulums", "--out", "sample", "--prepare").returncode == 0
    status, printed, errors = run("check", "pendulums", "--thorough", "--keep")
    assert status == 0, errors
    assert "pendulums: 4 example rows, " in printed and "Nothing here would stop a run." in printed
    edit(package / "prompts" / "pendulums_period.txt", "number of seconds", "whole number of seconds")
    status, _, errors = run("check", "pendulums", "--thorough")
    assert status == 1 and "pendulums_period: Expected N to be raised" in errors
    edit(package / "pendulums_period.yaml", "hooks.period", "hooks.perod")
    functions = "has no function perod; it has grade_choice, grade_seconds, period, slowest."
    assert functions in run("check", "pendulums")[2]


def test_a_version_that_is_raised_can_be_kept(run: Run, tmp_path: Path) -> None:
    package = install(tmp_path)
    edit(package / YAML, "max_new_tokens: 64", "max_new_tokens: 16")
    kept = (package / "version_digests.json").read_bytes()
    _, _, errors = run("check", "lamp_side", "--thorough", "--keep")
    assert "these changed: generation settings" in errors and (package / "version_digests.json").read_bytes() == kept
    edit(package / YAML, "version: 1-A", "version: 2-A")
    _, printed, errors = run("check", "lamp_side", "--thorough", "--keep")
    assert "version_digests.json, lamp_side" in printed and "Expected N" not in errors
    assert b"2-A" in (package / "version_digests.json").read_bytes()
    # What cannot run is found without thoroughness.
    misspell_placeholder(package)
    said = "lamp_side.yaml, lmms_eval_specific_kwargs of default: Expected settings that can be read"
    assert said in run("check", "lamp_side")[2]


def test_a_prepare_that_fails_is_named_by_its_file_and_line(tmp_path: Path) -> None:
    package = install(tmp_path)
    edit(package / BENCHMARK, "issues = Problems()", 'issues = {}["totl"]')
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "pairs.jsonl").write_text("")
    finished = run_anew(tmp_path, "prepare", "lamp_side", "--source", "release")
    assert finished.returncode == 1
    assert re.fullmatch(
        r"Lamp side cannot be prepared, for its prepare fails: lamp_side/benchmark.py, line \d+: KeyError: 'totl'\n",
        finished.stderr,
    )
