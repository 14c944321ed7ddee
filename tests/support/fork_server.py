"""Runs commands of ours, each in a fork of one process that has everything imported.

A command then costs what it does, not the seconds that its imports take; and its peak of memory is known.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LONGEST = 60
"""Seconds after which a command is ended by a signal."""
MOST_DATA = 3 << 30
"""Bytes of memory that a command can have at all, so that one that would take all of it is a failed test."""
MODULES = ("av", "cv2", "datasets", "pyarrow.parquet", "scipy.stats", "jinja2", "matplotlib", "yaml")


class Finished(NamedTuple):
    """A command that has ended: its exit status, below 0 the signal that ended it; what it printed, stdout before
    stderr; its most memory in bytes, no less than what the imports take; and its seconds of processor time."""

    status: int
    output: str
    peak: int
    seconds: float


class ForkServer:
    """The process that forks; use it as a context."""

    def __enter__(self) -> ForkServer:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Finished:
        """Run `lmms-eval-tasks` with arguments in a folder; its output is kept there as `stdout` and `stderr`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([list(arguments), str(folder), dict(environment)]), file=self._process.stdin, flush=True)
        status, peak, seconds = json.loads(self._process.stdout.readline())
        texts = [(folder / name).read_bytes().decode("utf-8", "backslashreplace") for name in ("stdout", "stderr")]
        return Finished(status, "".join(texts), peak, seconds)


def serve() -> None:
    """Fork for every line of stdin, and print how each child ended."""
    import gc
    import importlib
    import pkgutil

    import lmms_eval_tasks.cli

    for name in MODULES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(lmms_eval_tasks.__path__, "lmms_eval_tasks."):
        if not module.name.startswith(("lmms_eval_tasks.models", "lmms_eval_tasks.plugin")):
            # A plugin of a trainer imports the trainer, which is in an environment of its own.
            with suppress(ModuleNotFoundError):
                importlib.import_module(module.name)
    # Or every fork would write to, and so copy, all that stands here whenever it collects garbage.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _command(*json.loads(line))
        _, status, used = os.wait4(child, 0)
        ended = os.waitstatus_to_exitcode(status)
        print(json.dumps([ended, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime]), flush=True)


def _command(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be the command: as strict about what can be printed as a terminal whose encoding is UTF-8."""
    import signal
    import traceback

    from lmms_eval_tasks.cli.app import app
    from lmms_eval_tasks.registry import registry

    if "PYTHONPATH" in environment:
        # As an interpreter that starts: what is installed there is found, and announces its benchmarks.
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
        registry.cache_clear()
    signal.alarm(LONGEST)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA))
    os.chdir(folder)
    os.environ.update(environment)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
    sys.stdin.close()
    sys.stdout = open(1, "w", encoding="utf-8", errors="strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    status = 1
    try:
        app(arguments)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


if __name__ == "__main__":
    serve()
