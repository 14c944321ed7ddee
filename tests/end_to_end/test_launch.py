"""A launch of lmms-eval's own command: parts that are merged are the whole run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from host_run import SCRIPTS, SampleWorld, environment, run_host, warm_host
from typer.testing import CliRunner
from warm_commands import commands_on_path

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.utils.runs.results_file import results_files

pytestmark = pytest.mark.host

TASKS = ("mvp_mini_intuitive_physics", "causalvqa_debug_paired_shuffled")


def files(out: Path) -> dict[str, bytes]:
    """Sample logs and files for leaderboards, by their names without the date."""
    found = [*out.glob("*.jsonl"), *out.glob("submissions/*")]
    return {path.name.partition("_samples_")[2] or path.name: path.read_bytes() for path in found}


def test_three_parts_are_the_whole_run(
    sample_world: SampleWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--model", "sample_solver", "--tasks", ",".join(TASKS), "--log_samples"]
    out = tmp_path / "out"
    variables = environment(sample_world.home)
    with commands_on_path(warm_host(), SCRIPTS) as commands:
        variables["PATH"] = f"{commands}:{variables['PATH']}"
        words = ["launch", "--shards", "3", "--jobs", "2", "--", "lmms-eval", *arguments, "--output_path", str(out)]
        launched = subprocess.run(
            [SCRIPTS / "lmms-eval-tasks", *words], env=variables, cwd=tmp_path, capture_output=True, text=True
        )
        assert launched.returncode == 0, launched.stdout + launched.stderr
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        again = CliRunner().invoke(app, words)
    whole = run_host(*arguments, home=sample_world.home, out=tmp_path / "whole", log_samples=False)
    (path,) = results_files(out)
    assert "3 of 3 parts are done already." in again.output
    assert again.output.endswith(f"The parts are merged already: {path}\n") and again.exit_code == 0
    assert files(out) == files(whole.out) and len(files(out)) == 3
    results = json.loads(path.read_text(encoding="utf-8"))
    for task in TASKS:
        assert results["results"][task] == whole.results()["results"][task]
    assert set(read_run(out).records) == set(TASKS)
    assert sorted(file.name for file in (out / "parts").glob("*.log")) == [f"{number}-of-3.log" for number in (1, 2, 3)]
    assert not (out / "parts" / "jobs").exists()
