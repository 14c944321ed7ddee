"""What is wrong with somebody else's benchmark is said in its own terms: the example, spoilt by one edit."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import call
from docs import ROOT
from refusals import refusal

from lmms_eval_tasks.cli.prepare import prepare_command
from lmms_eval_tasks.prompting import _prompt_files, read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import _files, _installed_file, task_configs

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "benchmark_plugin" / "lamp_side"
BENCHMARK, YAML = "benchmark.py", "lamp_side.yaml"


def install(root: Path) -> Path:
    """The example, as if it were installed in a folder; its package."""
    name = EXAMPLE.name
    package = root / "site" / name
    shutil.copytree(EXAMPLE, package, ignore=shutil.ignore_patterns("__pycache__"))
    facts = root / "site" / f"{name}-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (facts / "entry_points.txt").write_text(f"[lmms_eval_tasks.benchmarks]\n{name} = {name}.benchmark:BENCHMARK\n")
    return package


Run = Callable[..., tuple[int, str, str]]


def forget() -> None:
    """Whatever is known of packages, which a test has installed or changed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == EXAMPLE.name]:
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


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


SPOILT = {
    row["fault"]: row["edits"]
    for row in map(json.loads, Path(__file__).with_name("spoilt.jsonl").read_text("utf-8").splitlines())
}
"""A fault to the edits that make it: file, old text (none where the file is new) and new text."""


def spoil(package: Path, fault: str) -> None:
    for file, old, new in SPOILT[fault]:
        if not old:
            (package / file).parent.mkdir()
            (package / file).write_text(new)
        else:
            edit(package / file, old, new)


def first_problem(errors: str) -> str:
    """The first problem with its heading, without the numbers of the example's lines, and without what is prepared;
    it has no sample data, so none is offered."""
    unprepared = ("Lamp side is not prepared", "Run:")
    lines = [line for line in errors.strip().splitlines() if not line.startswith(unprepared)]
    return re.sub(r"line \d+", "line N", "\n".join(lines[:2]))


@pytest.mark.parametrize("fault", SPOILT)
def test_what_is_wrong_is_said_in_one_line(fault: str, expected: Any, run: Run, tmp_path: Path) -> None:
    spoil(install(tmp_path), fault)
    status, printed, errors = run("check", "lamp_side", "--thorough")
    assert status == 1 and "Traceback" not in printed + errors
    expected(first_problem(errors))


def test_nothing_is_wrong_with_the_example_and_what_is_kept_is_its_own(run: Run, tmp_path: Path) -> None:
    install(tmp_path)
    status, printed, errors = run("check", "lamp_side", "--thorough", "--keep")
    assert status == 1 and errors.strip().startswith("Lamp side is not prepared: ") and not first_problem(errors)
    assert "lamp_side: 4 example rows, 4 examples" in printed and "version_digests.json, unchanged" in printed
    assert run("check", "--thorough", "--keep")[2].startswith("Expected --keep with --thorough and the names")


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
    spoil(package, "an unknown placeholder")
    said = "lamp_side.yaml, lmms_eval_specific_kwargs of default: Expected settings that can be read"
    assert said in run("check", "lamp_side")[2]


def test_a_prepare_that_fails_is_named_by_its_file_and_line(run: Run, tmp_path: Path, expected: Any) -> None:
    edit(install(tmp_path) / BENCHMARK, "issues = Problems()", 'issues = {}["totl"]')
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "pairs.jsonl").write_text("")
    assert run("check", "lamp_side")[0] == 1
    command = typer.Typer()
    command.command()(prepare_command(registry().benchmarks["lamp_side"]))
    message = refusal(command, ["--source", "release"], standalone_mode=False)
    expected(re.sub(r"line \d+", "line N", message))
