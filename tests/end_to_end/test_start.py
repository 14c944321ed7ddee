"""The page Start, followed by a newcomer: its runnable blocks, in order, in an empty folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from docs import ROOT, blocks
from host_run import SCRIPTS, environment, warm_host
from warm_commands import commands_on_path

pytestmark = pytest.mark.host


def test_the_first_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    runnable = [block for block in blocks(ROOT / "docs/start.md") if block.run]
    assert len(runnable) == 7
    printed = ""
    with commands_on_path(warm_host(), SCRIPTS) as commands:
        env["PATH"] = f"{commands}:{SCRIPTS}:{env['PATH']}"
        for block in runnable:
            finished = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.text],
                cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            )  # fmt: skip
            assert finished.returncode == 0, finished.stdout
            printed += finished.stdout
    assert "Error during evaluation" not in printed
    assert "SAMPLE DATA, not the benchmark" in printed
    assert re.search(r"^all \d+ scores equal$", printed, re.MULTILINE)
    files = [
        *tmp_path.glob("out/random/mvp_mini_submission.*.jsonl"),
        *tmp_path.glob("out/random-again/mvp_mini_*.jsonl"),
    ]
    assert len(files) == 2 and files[0].read_bytes() == files[1].read_bytes()
