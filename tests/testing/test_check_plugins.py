"""What is wrong with somebody else's benchmark is said in its own terms: the example, spoilt by one edit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from docs import ROOT
from fork_server import ForkServer

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


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


def variables(root: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(root / "site"), "LMMS_EVAL_TASKS_HOME": str(root / "home"), "COLUMNS": "1000"}


@pytest.fixture
def run(server: ForkServer, tmp_path: Path) -> Run:
    """Runs a command in the test's folder; its exit status, and what it prints on stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        status = server.run(words, tmp_path, variables(tmp_path)).status
        return status, (tmp_path / "stdout").read_text("utf-8"), (tmp_path / "stderr").read_text("utf-8")

    return run


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


def ask_by_itself(package: Path) -> None:
    own = (
        "@hook\n"
        "def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Any = None) -> str:\n"
        '    return task.put(doc, lmms_eval_specific_kwargs, lambda row, settings: row["questoin"])\n'
    )
    edit(package / YAML, "lmms_eval_tasks.api.hooks.doc_to_text", "lamp_side.hooks.doc_to_text")
    edit(package / HOOKS, "grade = choice_grader()\n", f"grade = choice_grader()\n\n\n{own}")


def aggregate_by_itself(package: Path) -> None:
    own = "@hook\ndef aggregate(metric: Any, items: Sequence[Any]) -> Any:\n    return metric.score(items[:5])\n"
    edit(package / YAML, "lmms_eval_tasks.api.hooks.aggregate", "lamp_side.hooks.aggregate")
    edit(package / HOOKS, "grade = choice_grader()\n", f"grade = choice_grader()\n\n\n{own}")


SPOILT = {
    "an unknown score": (
        swap(YAML, "metric: left_rate", "metric: left_share"),
        ["lamp_side.yaml, metric_list: Expected one of left_rate, pair_accuracy, ", ", but got `left_share`."],
    ),
    "no version": (
        swap(YAML, "metadata:\n  version: 1-A\n", ""),
        ["lamp_side.yaml, metadata: Expected this field, but it is missing from the file."],
    ),
    "a misspelt field": (
        swap(BENCHMARK, "    prepare=prepare,", "    prepar=prepare,"),
        ["lamp_side/benchmark.py, line ", ": Expected a field of Benchmark, one of card, folder, kinds, prepare, ",
         ", but got prepar. Did you mean prepare?"],
    ),
    "a hook that is not there": (
        swap(YAML, "lamp_side.hooks.process_results", "lamp_side.hooks.proces_results"),
        ["lamp_side.yaml, process_results: lamp_side.hooks has no function proces_results; it has process_results."],
    ),
    "hooks that cannot be imported": (
        swap(HOOKS, "grade = choice_grader()", "grade = choice_grder()"),
        ["lamp_side.yaml, process_results: Expected a function, but importing lamp_side.hooks.process_results fails: "
         "lamp_side/hooks.py, line ", "NameError: name 'choice_grder' is not defined"],
    ),
    "a score that cannot be read": (
        swap(BENCHMARK, 'record.answered == SIDES["left"]', 'record.fields["totl"] == SIDES["left"]'),
        ["metrics, left_rate: Expected a number or None of a record, which has expected, answered, outcome, ",
         ", but got this: lamp_side/benchmark.py, line ", ": KeyError: 'totl'"],
    ),
    "a score out of bounds": (
        swap(BENCHMARK, "100.0 * (record", "250.0 * (record"),
        ["metrics, left_rate: Expected values from 0 to 100, its value_bounds, but got 250."],
    ),
    "a pointer that is missing": (
        swap(YAML, "pointers/test.json", "pointers/tst.json"),
        ["lamp_side.yaml, data_files: Expected a pointer file, but pointers/tst.json cannot be read: ",
         "Files there: pointers/test.json."],
    ),
    "a kind without a task": (
        swap(BENCHMARK, "    kinds={\n", '    kinds={\n        "pairs": TaskKind(metrics=(PAIR_ACCURACY,)),\n'
             '        "timed": TaskKind(metrics=(SINGLE_ACCURACY,)),\n'),
        ["kinds, timed: Expected a task whose pointer names timed, but those of ", "lamp_side name pairs."],
    ),
    "an unknown placeholder": (
        misspell_placeholder,
        ["lamp_side.yaml, lmms_eval_specific_kwargs of default: Expected settings that can be read, but got this: "
         "Expected a prompt with question and options, one of ",
         "but got 'lamp', which has question and optoins."],
    ),
    "a prompt that cannot be made": (
        ask_by_itself,
        ["lamp_side.yaml, doc_to_text: Expected a prompt of every item, but got this: lamp_side/hooks.py, line ",
         ": KeyError: 'questoin'"],
    ),
    "an answer that cannot be graded": (
        swap(HOOKS, "return task.grade_first(doc, results, grade)", 'return {**task.grade_first(doc, results, grade), '
             '"more": doc["totl"]}'),
        ["lamp_side.yaml, process_results: Expected a record of any response, but got this: lamp_side/hooks.py, line ",
         ": KeyError: 'totl'"],
    ),
    "a submission of another form": (
        swap(BENCHMARK, '{"id": row["item_id"]}', '{"identity": row["item_id"]}'),
        ["submission, answers of test: Expected a file of a run's answers, but got this: ",
         "Expected the fields id, answer of Answer, but got identity, answer."],
    ),
    "a submission that its own check refuses": (
        swap(BENCHMARK, 'answer: Literal["A", "B", ""]', 'answer: Literal["left", "right", ""]'),
        ["submission, answers of test, answer: Expected 'left', 'right' or '', but got `A`"],
    ),
    "guesses that cannot be read": (
        swap(BENCHMARK, 'members="clips",', 'members="clips",\n            guesses=lambda row: ("2.5",),'),
        ["kinds, pairs, guesses: Expected answers that can be read, but got `2.5`. Remedy: name some in its form."],
    ),
    "an aggregation of its own": (
        aggregate_by_itself,
        ["numbers of lamp_side: Expected one everywhere, but got this: Expected (", "in report, but got ("],
    ),
    "a leaderboard that takes a split of no task": (
        swap(BENCHMARK, '    splits={"test":', '    leaderboards={"joint": {"more": "lamps"}},\n    splits={"more": '
             'SplitFacts(items=12), "test":'),
        ["card, leaderboards, joint: Expected a task of split more that a leaderboard takes, but there is none."],
    ),
    "an unknown view": (
        swap(BENCHMARK, '"single_frame", "shuffled"', '"singleframe", "shuffled"'),
        ["lamp_side/benchmark.py, line ", "Expected views, any of blind, ", ", but got singleframe."],
    ),
    "a version that stands for two things": (
        swap(YAML, "max_new_tokens: 64", "max_new_tokens: 16"),
        ["lamp_side: Expected N to be raised, because these changed: generation settings. Remedy: raise N of "
         "`metadata: version` in the YAML", "run `lmms-eval-tasks check lamp_side --thorough --keep`"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_wrong_is_said_in_one_line(name: str, run: Run, tmp_path: Path) -> None:
    spoil, parts = SPOILT[name]
    spoil(install(tmp_path))
    status, printed, errors = run("check", "lamp_side", "--thorough")
    assert status == 1 and "Traceback" not in printed + errors
    assert any(all(part in line for part in parts) for line in errors.splitlines()), errors


def test_nothing_is_wrong_with_the_example_and_what_is_kept_is_its_own(run: Run, tmp_path: Path) -> None:
    install(tmp_path)
    status, printed, errors = run("check", "lamp_side", "--thorough", "--keep")
    assert status == 1 and errors.strip().startswith("Lamp side is not prepared: ")
    assert "lamp_side: 4 example rows, 4 examples" in printed and "version_digests.json, unchanged" in printed
    assert run("check", "--thorough", "--keep")[2].startswith("Expected --keep with --thorough and the names")


def test_rows_are_checked_by_the_tasks_that_ask_them(tmp_path: Path) -> None:
    """Each task of the pendulums is given a hook that only grades its own rows, and no module lists its names."""
    package = install(tmp_path, PENDULUMS)
    hooks = package / "hooks.py"
    text = hooks.read_text(encoding="utf-8").split("@api.hook")[0]
    text = re.sub(r"__all__ = .*", "", text)
    own = """

@api.hook
def {name}(task, doc, results):
    assert bool(doc["options"]) is {options}
    return task.grade_first(doc, results, {grade})
"""
    for name, options, grade in (("slowest", True, "grade_choice"), ("period", False, "grade_seconds")):
        text += own.format(name=name, options=options, grade=grade)
        edit(package / f"pendulums_{name}.yaml", "hooks.process_results", f"hooks.{name}")
    hooks.write_text(text, encoding="utf-8")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **variables(tmp_path)}
        return subprocess.run([str(COMMAND), *words], cwd=tmp_path, env=env, capture_output=True, text=True)

    assert run("sample", "pendulums", "--out", "sample", "--prepare").returncode == 0
    checked = run("check", "pendulums", "--thorough", "--keep")
    assert checked.returncode == 0, checked.stderr
    assert "pendulums: 4 example rows, " in checked.stdout and "Nothing here would stop a run." in checked.stdout
    edit(package / "prompts" / "pendulums_period.txt", "number of seconds", "whole number of seconds")
    changed = run("check", "pendulums", "--thorough")
    assert changed.returncode == 1 and "pendulums_period: Expected N to be raised" in changed.stderr
    edit(package / "pendulums_period.yaml", "hooks.period", "hooks.perod")
    assert (
        "has no function perod; it has grade_choice, grade_seconds, period, slowest."
        in run("check", "pendulums").stderr
    )


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


def test_what_cannot_run_is_found_without_thoroughness(run: Run, tmp_path: Path) -> None:
    package = install(tmp_path)
    misspell_placeholder(package)
    _, _, errors = run("check", "lamp_side")
    assert "lamp_side.yaml, lmms_eval_specific_kwargs of default: Expected settings that can be read" in errors


def test_a_prepare_that_fails_is_named_by_its_file_and_line(tmp_path: Path) -> None:
    """In a process of its own: each benchmark's `prepare` is made when the command line is imported."""
    package = install(tmp_path)
    edit(package / BENCHMARK, "issues = Problems()", 'issues = {}["totl"]')
    release = tmp_path / "release"
    release.mkdir()
    (release / "pairs.jsonl").write_text("")
    command = [str(COMMAND), "prepare", "lamp_side", "--source", "release"]
    finished = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **variables(tmp_path)}, capture_output=True, text=True
    )
    assert finished.returncode == 1
    assert re.fullmatch(
        r"Lamp side cannot be prepared, for its prepare fails: lamp_side/benchmark.py, line \d+: KeyError: 'totl'\n",
        finished.stderr,
    )
