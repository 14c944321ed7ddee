"""Launches of numbered items, and their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

SUPPORT = Path(__file__).parent


def launch(count: int, *command: object, slurm: str = "", **variables: str) -> subprocess.Popen[str]:
    """Start a launch of this interpreter with these arguments: so many parts, two of them at a time."""
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT.parents[1]), "CUDA_VISIBLE_DEVICES": "", **variables}
    words = [SUPPORT / "launch_parts.py", count, 2, slurm, sys.executable, *command]
    return subprocess.Popen(
        [sys.executable, *map(str, words)], env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, preexec_fn=_heed_ctrl_c,
    )  # fmt: skip


def _heed_ctrl_c() -> None:
    """Before the program starts: Ctrl-C ends it also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def launch_items(out: Path, *options: str, count: int = 3, slurm: str = "", **variables: str) -> subprocess.Popen[str]:
    return launch(count, SUPPORT / "numbered_items.py", "--output_path", out, *options, slurm=slurm, **variables)


def answered(out: Path) -> Counter[int]:
    return Counter(int(item) for file in out.rglob("answers") for item in file.read_text(encoding="utf-8").split())


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def processes_of(parts: Path) -> dict[str, list[psutil.Process]]:
    """The processes of jobs that run, by what they are."""
    found: dict[str, list[psutil.Process]] = {"job": [], "submitit": [], "command": []}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            words = process.cmdline()
            below = any(word.startswith(f"{parts}/jobs/") for word in words)
            if process.environ().get("LAUNCHED_PART", "").startswith(f"{parts}/"):
                found["command"].append(process)
            elif below and "submitit.core._submit" in words:
                found["job"].append(process)
            elif below and "submitit.local._local" in words:
                found["submitit"].append(process)
    return found


def commands(out: Path) -> list[psutil.Process]:
    """The commands of the parts of a run that run."""
    return processes_of(out / "parts")["command"]
