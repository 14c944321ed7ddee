"""Locks that another process holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held_by_another_process(lock: Path) -> Iterator[None]:
    """As long as it lasts, another process holds a lock.

    lmms-eval, once it has evaluated something, makes all locks of a file in its process one that may be taken twice.
    """
    code = "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        holder.stdout.readline()
        yield
        holder.stdin.close()
