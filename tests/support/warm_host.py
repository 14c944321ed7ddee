"""Runs the commands lmms-eval and lmms-eval-tasks in forks of one process that has imported what they import and has
read the files of lmms-eval's own tasks.

Both take most of a short run's time. Each fork executes the installed script with the run's arguments, environment and
folder, and ends as the command does; several ranks are forked by the launcher that users start. The models of
`qwen_on_cpu_ranks` are known to them all. What is read from the environment at import (the Hugging Face home) is the
same for all of them.
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
from typing import Any, NoReturn

LONGEST = 900
"""Seconds after which a run is ended by a signal."""
IMPORTS = (
    *("lmms_eval.cli.dispatch", "lmms_eval.__main__", "lmms_eval.evaluator", "nltk"),
    *("av", "cv2", "scipy.stats", "pyarrow.parquet", "torch._dynamo", "lmms_eval_tasks.utils.data.survey"),
    *("pytablewriter", "decord", "qwen_vl_utils", "lmms_eval_tasks.models", "lmms_eval_tasks.finished.rescore"),
    *("lmms_eval_tasks.cli.app", "torch.distributed.launcher.api"),
)
IMPORT_TIME = ("HF_", "LMMS_EVAL_PLUGINS", "PYTHONPATH")
"""Variables that are read when lmms-eval or its libraries are imported begin so."""


class WarmRun:
    """A command that was started; `pid` is its process, on several ranks the launcher's."""

    def __init__(self, host: WarmHost, pid: int) -> None:
        self._host, self.pid = host, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, None while it runs, and below 0 the signal that ended it."""
        if self.returncode is None:
            self.returncode = self._host.ask("poll", self.pid)
        return self.returncode

    def wait(self) -> int:
        """The exit status, once it has ended."""
        if self.returncode is None:
            self.returncode = self._host.ask("wait", self.pid)
        assert self.returncode is not None
        return self.returncode


class WarmHost:
    """The process that forks, of an interpreter whose packages the runs are to have; it ends with who started it."""

    def __init__(self, environment: Mapping[str, str], python: str | Path = sys.executable) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warm-host-")
        environment = {**environment, "HF_HOME": self._folder.name}
        self._process = subprocess.Popen(
            [python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        atexit.register(self._end)

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()

    def ask(self, what: str, *arguments: Any) -> Any:
        """What the process answers to a request."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([what, *arguments]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def start(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        output: Path,
        errors: Path | None = None,
        ranks: int = 1,
    ) -> WarmRun:
        """Run an installed script with its arguments in a folder.

        Args:
            command: The script and its arguments; on several ranks the module `lmms_eval` runs with these.
            folder: The current folder of the run.
            environment: All of its variables.
            output: The file for what it prints.
            errors: The file for its standard error; it goes where its output goes without one.
            ranks: How many processes run it.
        """
        environment = {**environment, "HF_HOME": self._folder.name}
        files = [str(output), str(errors or output)]
        return WarmRun(self, self.ask("start", [*command], str(folder), environment, files, ranks))

    def run(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end; with what it printed."""
        with tempfile.TemporaryDirectory() as printed:
            files = Path(printed, "output"), Path(printed, "errors")
            status = self.start(command, folder, environment, *files).wait()
            output, errors = (file.read_text(encoding="utf-8", errors="replace") for file in files)
        return subprocess.CompletedProcess(command, status, output, errors)


def serve() -> None:
    """Fork for every request on stdin to start a command, and answer how commands ended."""
    import gc
    import importlib

    # What imports print, such as which benchmark cannot be used, is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    gc.disable()
    for name in IMPORTS:
        importlib.import_module(name)
    register_models()
    read_own_tasks()
    # Or every fork would write to, and so copy, all that stands here whenever it collects garbage.
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        if what == "start":
            answer: int | None = os.fork() or _be_command(*arguments)
        else:
            ended, status = os.waitpid(arguments[0], os.WNOHANG if what == "poll" else 0)
            answer = os.waitstatus_to_exitcode(status) if ended else None
        print(json.dumps(answer), file=answers, flush=True)
    gc.unfreeze()


def register_models() -> None:
    """Add the models of `qwen_on_cpu_ranks` to lmms-eval's registry, as an installed plugin's entry point does."""
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    simple, chat = "qwen_on_cpu_ranks.QwenOnCpuRanks", "qwen_on_cpu_ranks.QwenChatOnCpuRanks"
    MODEL_REGISTRY_V2.register_manifest(ModelManifest(model_id="qwen_on_cpu_ranks", simple_class_path=simple))
    MODEL_REGISTRY_V2.register_manifest(ModelManifest(model_id="qwen_chat_on_cpu_ranks", chat_class_path=chat))


def read_own_tasks() -> None:
    """Have lmms-eval read the YAML files of its own tasks once: some 2,000, in 4 seconds.

    Where `SHARED_FOLDER` names a folder, once for all processes to which it is the same.
    """
    import pickle

    from filelock import FileLock
    from lmms_eval import tasks, utils
    from loguru import logger

    read_yaml_quickly()
    read_cells_quickly()
    load = utils.load_yaml_config
    kept = Path(os.environ.get("SHARED_FOLDER") or os.environ["HF_HOME"], "own_tasks.pickle")
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            paths = map(str, Path(tasks.__file__).parent.rglob("*.yaml"))
            kept.write_bytes(pickle.dumps({path: pickle.dumps(load(path, mode="simple")) for path in paths}))
    saved = pickle.loads(kept.read_bytes())

    def load_once(yaml_path: str | None = None, *arguments: Any, mode: str = "full", **options: Any) -> Any:
        if mode == "simple" and yaml_path in saved:
            return pickle.loads(saved[yaml_path])
        return load(yaml_path, *arguments, mode=mode, **options)

    utils.load_yaml_config = load_once
    folder, find = f"{Path(tasks.__file__).parent}/", tasks.TaskManager._get_task_and_group
    manager = tasks.TaskManager.__new__(tasks.TaskManager)
    manager.logger = logger
    index = pickle.dumps(find(manager, folder))

    def find_once(manager: Any, task_dir: str) -> Any:
        return pickle.loads(index) if task_dir == folder else find(manager, task_dir)

    tasks.TaskManager._get_task_and_group = find_once


def read_cells_quickly() -> None:
    """Have lmms-eval's tables printed in half the time: for each cell, mbstrdecoder copies a list of codecs deeply."""
    from types import SimpleNamespace

    from mbstrdecoder import _mbstrdecoder

    vars(_mbstrdecoder)["copy"] = SimpleNamespace(deepcopy=list)


def read_yaml_quickly() -> None:
    """Have libyaml parse YAML files: the parser in Python takes half of a short run's time for those of our tasks."""
    import yaml

    if not yaml.__with_libyaml__:
        return

    class QuickLoader(yaml.CFullLoader):
        """Constructs as the loader in Python does, also what lmms-eval teaches that one later."""

        def __init__(self, stream: Any) -> None:
            super().__init__(stream)
            # Functions that a file names are looked up beside it.
            self.name = getattr(stream, "name", "<file>")

        @property
        def yaml_constructors(self) -> Any:  # type: ignore[override]
            return yaml.FullLoader.yaml_constructors

    yaml.full_load = lambda stream: yaml.load(stream, QuickLoader)


def _be_command(command: list[str], folder: str, environment: dict[str, str], files: list[str], ranks: int) -> NoReturn:
    """Run the script in this process, and end it."""
    import signal

    signal.alarm(LONGEST)
    # Where the tests run in the background, a shell may have had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if "COVERAGE_FILE" in environment:
        note_lines(environment["COVERAGE_FILE"], environment.get("PYTEST_CURRENT_TEST", ""))
    for number, file in ((0, os.devnull), (1, files[0]), (2, files[1])):
        # Ranks, and the two streams where they share a file, take turns at its end.
        stream = os.open(file, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(stream, number)
        os.close(stream)
    status = 1
    try:
        status = _status_of(_launch, command[1:], ranks) if ranks > 1 else _status_of(_run_script, command)
    finally:
        os._exit(status)


def note_lines(file: str, test: str) -> None:
    """Have coverage.py note which lines the command runs for a test, as `make seen` asks."""
    from coverage import Coverage

    packages = ["lmms_eval_tasks", "lmms_eval_worlds"]
    noted = Coverage(
        file, data_suffix=True, source_pkgs=packages, context=f"{test.rpartition(' ')[0]}|run", config_file=False
    )
    atexit.register(noted.save)
    noted.start()


def _status_of(run: Any, *arguments: Any) -> int:
    """Call a function, then what is to be called at the end of the process; its exit status."""
    import traceback

    code: str | int | None = None
    try:
        run(*arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    status = 1 if isinstance(code, str) else code or 0
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _run_script(command: list[str]) -> None:
    import runpy

    sys.argv = command
    # As an interpreter that is given a script.
    sys.path.insert(0, str(Path(command[0]).parent))
    runpy.run_path(command[0], run_name="__main__")


def _launch(arguments: list[str], ranks: int) -> None:
    """Start the ranks as torchrun does, but as forks, and wait for them."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # As `torchrun --standalone --local_addr=127.0.0.1` has them.
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=ranks, rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        run_id="none", max_restarts=0, monitor_interval=0.1, local_addr="127.0.0.1", start_method="fork",
    )  # fmt: skip
    elastic_launch(config, _be_rank)(arguments)


def _be_rank(arguments: list[str]) -> None:
    import runpy

    sys.argv = ["lmms_eval", *arguments]
    status = _status_of(lambda: runpy.run_module("lmms_eval", run_name="__main__", alter_sys=True))
    if status:
        sys.exit(status)


if __name__ == "__main__":
    serve()
