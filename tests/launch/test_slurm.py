"""Launches on a real SLURM of one node."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from docs import ROOT
from killed_launches import processes_of
from one_node_slurm import missing_for_slurm, one_node_slurm

SUPPORT = ROOT / "tests" / "support"
ITEMS = 12


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if reason := missing_for_slurm():
        pytest.skip(f"no SLURM: {reason}")
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as variables:
        yield {**os.environ, **variables, "PYTHONPATH": str(ROOT)}


def start(environment: dict[str, str], out: Path, *options: str, parts: int = 3) -> subprocess.Popen[str]:
    command = [sys.executable, str(SUPPORT / "numbered_items.py"), "--output_path", str(out), *options]
    launcher = [sys.executable, str(SUPPORT / "launch_parts.py"), str(parts), "2", "time=5 cpus_per_task=1"]
    return subprocess.Popen(
        [*launcher, *command], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def answered(out: Path) -> Counter[int]:
    return Counter(int(item) for file in out.rglob("answers") for item in file.read_text(encoding="utf-8").split())


def queue(environment: dict[str, str]) -> list[str]:
    return subprocess.run(["squeue", "-h", "-r"], env=environment, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.slow
def test_parts_are_jobs_of_an_array_and_a_failed_one_is_tried_again(slurm: dict[str, str], tmp_path: Path) -> None:
    launcher = start(slurm, tmp_path / "out", "--fail", "2", "--items", str(ITEMS), "--pause", "0.1")
    output, _ = launcher.communicate(timeout=240)
    assert launcher.returncode == 1, output
    assert "Part 2-of-3 failed (exit status 3), try 2 of 2." in output
    assert "Something is wrong with this part." in output
    (tmp_path / "out" / "mended").touch()
    launcher = start(slurm, tmp_path / "out", "--fail", "2", "--items", str(ITEMS), "--pause", "0.1")
    output, _ = launcher.communicate(timeout=240)
    assert launcher.returncode == 0 and "2 of 3 parts are done already." in output
    assert answered(tmp_path / "out") == Counter(range(1, ITEMS + 1))


@pytest.mark.slow
def test_a_new_launch_takes_over_what_is_queued_and_runs_again_what_was_killed(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--items", str(2 * ITEMS), "--pause", "0.5")
    first = start(slurm, out, *options, parts=5)
    wait_for(lambda: len(commands(out)) == 2)
    first.kill()
    assert len(queue(slurm)) == 5
    second = start(slurm, out, *options, parts=5)
    commands(out)[0].kill()
    output, _ = second.communicate(timeout=240)
    assert second.returncode == 0, output
    assert output.count("is worked on by a job of an earlier launch") >= 4, output
    assert answered(out) == Counter(range(1, 2 * ITEMS + 1))
    assert sum(path.read_text(encoding="utf-8").count("===") for path in (out / "parts").glob("*.log")) == 6


@pytest.mark.slow
def test_ctrl_c_cancels_what_runs_and_what_is_queued(slurm: dict[str, str], tmp_path: Path) -> None:
    launcher = start(slurm, tmp_path / "out", "--pause", "20", parts=3)
    wait_for(lambda: len(commands(tmp_path / "out")) == 2)
    launcher.send_signal(signal.SIGINT)
    output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 1 and "Interrupted: 0 of 3 parts are done. The same command goes on." in output
    wait_for(lambda: not queue(slurm))
    assert commands(tmp_path / "out") == [] and answered(tmp_path / "out") == Counter()


def commands(out: Path) -> list[psutil.Process]:
    return processes_of(out / "parts")["command"]


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)
