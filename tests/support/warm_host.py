"""Runs the lmms-eval command in forks of one process that has imported it and has read the files of its own tasks.

Both take most of a short run's time. Each fork executes the installed script with the run's arguments, environment and
folder, and ends as the command does. What is read from the environment at import (the Hugging Face home) is the same
for all of them.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LONGEST = 900
"""Seconds after which a run is ended by a signal."""
IMPORTS = (
    *("lmms_eval.cli.dispatch", "lmms_eval.__main__", "lmms_eval.evaluator", "nltk"),
    *("av", "cv2", "scipy.stats", "pyarrow.parquet", "torch._dynamo", "lmms_eval_tasks.check"),
)
IMPORT_TIME = ("HF_", "LMMS_EVAL_PLUGINS", "PYTHONPATH")
"""Variables that are read when lmms-eval or its libraries are imported begin so."""


class WarmHost:
    """The process that forks; it ends with the process that started it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warm-host-")
        environment = {**environment, "HF_HOME": self._folder.name}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        atexit.register(self._end)

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()

    def run(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
        """Run the installed script with its arguments in a folder; exit status and what was printed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        environment = {**environment, "HF_HOME": self._folder.name}
        with tempfile.NamedTemporaryFile(prefix="output-") as output:
            job = [list(command), str(folder), environment, output.name]
            print(json.dumps(job), file=self._process.stdin, flush=True)
            status = json.loads(self._process.stdout.readline())
            return status, output.read().decode("utf-8", "replace")


def serve() -> None:
    """Fork for every line of stdin, and print how each child ended."""
    import importlib

    for name in IMPORTS:
        importlib.import_module(name)
    _read_own_tasks()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _be_command(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _read_own_tasks() -> None:
    """Have lmms-eval read the YAML files of its own tasks once: over 3,000, in 8 seconds."""
    import copy

    from lmms_eval import tasks, utils

    folder = Path(tasks.__file__).parent
    load = utils.load_yaml_config
    configurations = {str(path): load(str(path), mode="simple") for path in folder.rglob("*.yaml")}

    def load_once(yaml_path: str | None = None, *arguments: Any, mode: str = "full", **options: Any) -> Any:
        if mode == "simple" and yaml_path in configurations:
            return copy.deepcopy(configurations[yaml_path])
        return load(yaml_path, *arguments, mode=mode, **options)

    utils.load_yaml_config = load_once


def _be_command(command: list[str], folder: str, environment: dict[str, str], output: str) -> None:
    """Run the script, and raise `SystemExit` as it does."""
    import runpy
    import signal

    signal.alarm(LONGEST)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with Path(output).open("wb") as stream, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")
    sys.exit(0)


if __name__ == "__main__":
    serve()
