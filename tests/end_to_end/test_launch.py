"""A launch of lmms-eval's own command: parts that are merged are the whole run."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from docs import ROOT
from host_run import SCRIPTS, SampleWorld, environment, free_port, run_host, warm_host
from typer.testing import CliRunner
from warm_commands import commands_on_path

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import results_files

pytestmark = pytest.mark.host

SUPPORT = ROOT / "tests" / "support"
TASKS = ("mvp_mini_intuitive_physics", "causalvqa_debug_paired_shuffled")


def files(out: Path) -> dict[str, bytes]:
    """Sample logs and files for leaderboards, by their names without the date."""
    found = [*out.glob("*.jsonl"), *out.glob("submissions/*")]
    return {path.name.partition("_samples_")[2] or path.name: path.read_bytes() for path in found}


@pytest.mark.nightly
def test_three_parts_are_the_whole_run(
    sample_world: SampleWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--model", "sample_solver", "--tasks", ",".join(TASKS)]
    out = tmp_path / "out"
    variables = environment(sample_world.home)
    with commands_on_path(warm_host(), SCRIPTS) as commands:
        variables["PATH"] = f"{commands}:{variables['PATH']}"
        words = ["launch", "--shards", "3", "--jobs", "2", "--", "lmms-eval", *arguments, "--log_samples"]
        words += ["--output_path", str(out)]
        launched = subprocess.run(
            [SCRIPTS / "lmms-eval-tasks", *words], env=variables, cwd=tmp_path, capture_output=True, text=True
        )
        assert launched.returncode == 0, launched.stdout + launched.stderr
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        again = CliRunner().invoke(app, words)
    whole = run_host(*arguments, home=sample_world.home, out=tmp_path / "whole")
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


def test_a_part_may_have_a_server_of_its_own(sample_world: SampleWorld, tmp_path: Path) -> None:
    """The script of the page, with a server that gives one letter in place of vLLM."""
    server = shlex.join([sys.executable, str(SUPPORT / "model_server.py")])
    given = {"LMMS_EVAL_TASKS_SHARD": "2/2", "SERVE": f'exec {server} "$PORT" B', "FIRST_PORT": str(free_port() - 2)}
    variables = environment(sample_world.home, given)
    words = ["--tasks", "causalvqa_debug_paired", "--limit", "6", "--log_samples", "--output_path", str(tmp_path)]
    with commands_on_path(warm_host(), SCRIPTS) as commands:
        variables["PATH"] = f"{commands}:{variables['PATH']}"
        script = subprocess.Popen(
            ["bash", str(ROOT / "examples/served_part.sh"), *words], env=variables, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert script.wait(timeout=600) == 0
        finally:
            os.killpg(script.pid, signal.SIGKILL)  # as a launch does it with what a part leaves
    items = read_run(tmp_path).items_of("causalvqa_debug_paired")
    assert items and {response for item in items for response in item.responses} == {"B"}
