"""The processes of a launch."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import psutil


def heed_ctrl_c() -> None:
    """In a process before its program starts: Ctrl-C ends it also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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
