"""Runs of which files for elsewhere are made."""

from __future__ import annotations

from pathlib import Path

import pytest
from exported_runs import MakeRun, write_exported_run

from lmms_eval_tasks.runs.scores import ScoredRun


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Writes a run below the test's folder; see `write_exported_run`."""

    def make(name: str = "weak", *given: object, **named: object) -> ScoredRun:
        return write_exported_run(tmp_path / name, *given, **named)  # type: ignore[arg-type]

    return make
