"""The processes of a part, found by a variable in their environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "LAUNCHED_PART"
"""The variable; it holds the part's output path."""
GRACE = 15.0
"""Seconds that a process has to end by itself."""
ROUNDS = 3
"""One that ends may start another meanwhile."""


def end_processes(out: Path, session: int | None = None) -> None:
    """End the processes on this machine that work on a part, by SIGTERM, and by SIGKILL where that is not enough."""
    for _ in range(ROUNDS):
        found = list(_processes(out, session))
        if not found:
            return
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, living = psutil.wait_procs(found, timeout=GRACE)
        for process in living:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(living, timeout=GRACE)


def _processes(out: Path, session: int | None) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        # What is somebody else's cannot be looked into, and what has ended is gone.
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == str(out) or (session and os.getsid(process.pid) == session):
                yield process
