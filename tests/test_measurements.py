"""Every measurement of the folder benchmarks runs at its tiny size, and prints what it is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs import ROOT
from host_run import environment, warm_host

FOLDER = ROOT / "benchmarks"
ABSENT = 77
"""Exit status of a measurement that lacks what it needs, as benchmarks/measuring.py has it."""
MEASUREMENTS = sorted(path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))


@pytest.mark.measurement
@pytest.mark.host
@pytest.mark.model
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_measurement_runs(name: str, tmp_path: Path) -> None:
    run = warm_host().run([str(FOLDER / name), "--tiny"], tmp_path, environment(tmp_path / "home"))
    if run.returncode == ABSENT:
        pytest.skip(run.stdout.splitlines()[-1])
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^ratio -?\d\S*: .", run.stdout, re.MULTILINE), run.stdout


def test_the_page_names_every_measurement() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"^\| `python benchmarks/(\w+\.py)", page, re.MULTILINE))) == MEASUREMENTS
