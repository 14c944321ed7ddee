"""The page Start and those on building, followed by a newcomer: a page's runnable blocks, in order, in one folder."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from by_day import first_by_day
from docs import ROOT, blocks, pages
from host_run import SCRIPTS, environment, warm_host
from warm_commands import commands_on_path

pytestmark = pytest.mark.host

RUNNABLE = {
    page: text
    for page in pages()
    if "stub_server.py" in (text := "".join(block.text for block in blocks(page) if block.run))
}
"""Pages whose blocks start the stand-in for models, and the blocks."""
LONGEST = 600
"""Seconds."""
SOLVED = ("accuracy,none", "pair_accuracy,none", "verdict_accuracy,none")
"""Scores that a solver of the sample has in full."""


def free_address() -> str:
    """Where a page's server can listen; no port that the system gives to others by itself."""
    for port in count(20_000 + os.getpid() % 5_000):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                return f"http://127.0.0.1:{port}/v1"
    raise AssertionError("no port is free")


def run_script(text: str, folder: Path) -> str:
    """Run a shell script to its end, in a folder that holds the examples; what it prints. Nothing of it goes on."""
    (folder / "examples").symlink_to(ROOT / "examples")
    env = environment(folder / "home", {"LLM_JUDGE_URL": free_address()})
    with commands_on_path(warm_host(), SCRIPTS) as commands, (folder / "printed").open("a") as printed:
        env["PATH"] = f"{commands}:{SCRIPTS}:{env['PATH']}"
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder, env=env, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            status = shell.wait(LONGEST)
            assert status == 0, (folder / "printed").read_text(encoding="utf-8", errors="replace")
            # What a script starts it ends; on a busy machine the last of it takes a moment to be gone.
            with pytest.raises(ProcessLookupError):
                for _ in range(50):
                    os.killpg(shell.pid, 0)
                    time.sleep(0.1)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    return (folder / "printed").read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("page", first_by_day(RUNNABLE), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    printed = run_script(RUNNABLE[page], tmp_path)
    assert "Error during evaluation" not in printed and "Traceback" not in printed
    assert "nothing was asked" in printed and "SAMPLE DATA, not the benchmark" in printed
    assert "no usable reply" not in printed and "server gave no reply" not in printed
    (results,) = (path for path in (tmp_path / "out").rglob("*_results.json") if path.parent.name != "submissions")
    facts = json.loads(results.read_text(encoding="utf-8"))
    scores = [(name, value) for task in facts["results"].values() for name, value in task.items()]
    assert {value for name, value in scores if name == "sample_data,none"} == {100}
    reached = {value for name, value in scores if name in SOLVED}
    assert reached == {100} or (reached and facts["config"]["model"] == "random_answer")


def test_sets_are_built_on_four_pages() -> None:
    assert len(RUNNABLE) == 4


def test_the_first_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    runnable = [block.text for block in blocks(ROOT / "docs/start.md") if block.run]
    assert len(runnable) == 7
    printed = run_script("".join(runnable), tmp_path)
    assert "Error during evaluation" not in printed
    assert "SAMPLE DATA, not the benchmark" in printed
    assert re.search(r"^all \d+ scores equal, with their intervals and counts$", printed, re.MULTILINE)
    first, again = (
        next((tmp_path / "out").glob(f"{run}/mvp_mini_submission.*.jsonl")) for run in ("random", "random-again")
    )
    assert first.read_bytes() == again.read_bytes()
