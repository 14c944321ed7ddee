"""When Python looks for cycles of objects in runs of lmms-eval's command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host_run import SampleWorld, environment, warm_host
from warm_commands import run_command

pytestmark = pytest.mark.host

SUPPORT = Path(__file__).parents[1] / "support"


def test_collection_waits_until_results_are_saved_or_the_next_run_begins(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.json"
    words = ["collected_runs.py", "mvp_mini_intuitive_physics", str(tmp_path / "out"), str(notes)]
    done = run_command(warm_host(), SUPPORT, words, tmp_path, environment(sample_world.home))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(notes.read_text(encoding="utf-8")) == [
        ["answering", True],
        ["saving", False],
        ["after the first, results held", False],
        ["answering", True],
        ["saving", False],
        ["after the second, results held", False],
        ["results gone", True],
    ]
