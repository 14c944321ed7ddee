"""Processes that share work or render, with results that do not depend on their number."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from threading import Lock, local
from typing import Any, NamedTuple, TypeVar

from lmms_eval_tasks.api import InputError

Given = TypeVar("Given")
Got = TypeVar("Got")


class Workers:
    """Processes that work through a list in order, no further ahead than they are many; none where one is enough."""

    def __init__(self, processes: int | None) -> None:
        """So many processes, or as many as there are cores for this one."""
        self._many = processes if processes is not None else count_cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self._many > 1:
            # Started afresh: a renderer's threads would not survive a fork.
            self._pool = ProcessPoolExecutor(self._many, mp_context=get_context("spawn"))
        return self

    def __exit__(self, *error: object) -> None:
        """End them; what is not begun is left."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[Given], Got], given: Iterable[Given]) -> Iterator[Got]:
        """Yield the results of applying the work to each argument, in order."""
        if self._pool is None:
            yield from map(work, given)
            return
        left = iter(given)
        ahead = [self._pool.submit(work, one) for one in islice(left, self._many)]
        while ahead:
            yield ahead.pop(0).result()
            ahead += [self._pool.submit(work, one) for one in islice(left, 1)]


def count_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


T = TypeVar("T")

PATIENCE = 10.0
"""Seconds in which a process that is ended may delete what it has half written."""
_PROGRAM = f"{__package__}.rendering"
"""The module that each process runs; not imported here, since it is a program."""
_VARIABLE = "MUJOCO_GL"
_INSTALL = (
    "Install one of them. Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri (or libosmesa6); Fedora: "
    "dnf install mesa-libEGL mesa-dri-drivers (or mesa-libOSMesa)."
)


class RenderAnswer(NamedTuple):
    """Result of one function call in a rendering process."""

    result: Any = None
    refused: str = ""
    disk: bool = False


class Renderers:
    """Processes that render; `open_renderers` opens some."""

    def __init__(self, backend: str | None, processes: int) -> None:
        self._backend = backend
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="renderers")
        self._own = local()
        self._lock = Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._is_closed = False

    def each(self, function: Callable[[T], Any], things: Sequence[T]) -> Iterator[tuple[int, RenderAnswer]]:
        """Yield the number of each thing and the function's answer for it, as soon as it is ready."""
        coming = {self._threads.submit(self._ask, function, thing): number for number, thing in enumerate(things)}
        for done in as_completed(coming):
            yield coming.pop(done), done.result()

    def close(self) -> None:
        """End the processes; what is half written is deleted."""
        with self._lock:
            self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._running:
            process.terminate()
        for process in self._running:
            _end(process)
        self._threads.shutdown()

    def _ask(self, function: Callable[[T], Any], thing: T) -> RenderAnswer:
        """An answer; a process that ends over a thing is replaced once."""
        status = 0
        for _ in range(2):
            process = self._process()
            if process is None:
                break
            answer = _answer(process, (function, thing))
            if answer is not None:
                return answer
            status = process.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return RenderAnswer(
            refused=f"The process that rendered it ended twice ({how}); there may be too little memory."
        )

    def _process(self) -> subprocess.Popen[bytes] | None:
        """The process of this thread, started where it has none that runs; None where no more are wanted."""
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is not None and process.poll() is None:
            return process
        with self._lock:
            if self._is_closed:
                return None
            if process is not None:
                self._running.remove(process)
                _end(process)
            self._own.process = _start(self._backend)
            self._running.append(self._own.process)
        started: subprocess.Popen[bytes] = self._own.process
        _answer(started)
        return started


@contextmanager
def open_renderers(processes: int) -> Iterator[Renderers]:
    """Processes that render, ended with the block."""
    opened = Renderers(find_backend(), processes)
    try:
        yield opened
    finally:
        opened.close()


def find_backend() -> str | None:
    """The value of MUJOCO_GL with which pictures can be rendered here; None for what it is."""
    if find_spec("mujoco") is None:
        raise InputError(
            "Scenes cannot be rendered: MuJoCo is not installed. Remedy: pip install 'lmms-eval-tasks[worlds]'"
        )
    is_free = sys.platform.startswith("linux") and not os.environ.get(_VARIABLE)
    backends = ("egl", "osmesa") if is_free else (None,)
    found = []
    for backend in backends:
        process = _start(backend)
        try:
            answer = _answer(process)
        finally:
            _end(process)
        if answer is not None and not answer.refused:
            return backend
        name = backend or os.environ.get(_VARIABLE) or "the system's own"
        found.append(f"{name}: {answer.refused if answer else 'the process ended'}")
    what = "neither EGL nor OSMesa works" if is_free else "OpenGL does not work"
    remedy = _INSTALL if is_free else f"{_VARIABLE} may name another renderer; on Linux, leave it unset."
    raise InputError("\n  ".join([f"Scenes cannot be rendered: {what}.", *found, f"Remedy: {remedy}"]))


def _start(backend: str | None) -> subprocess.Popen[bytes]:
    # What can be imported here can be there, and nothing of the current folder. One thread draws: others run beside it.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"}
    environment |= {"LP_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if backend is not None:
        environment |= {_VARIABLE: backend, "PYOPENGL_PLATFORM": backend}
    return subprocess.Popen(
        [sys.executable, "-m", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def _answer(process: subprocess.Popen[bytes], question: object = None) -> RenderAnswer | None:
    """Return the answer of a process, the first time without a question; None if it has ended."""
    assert process.stdin is not None and process.stdout is not None
    try:
        if question is not None:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
        answer: RenderAnswer = pickle.load(process.stdout)
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        return None
    return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has nothing to do, or was asked to end."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(OSError):  # what was not read any more
        process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with suppress(OSError):
        process.stdout.close()
