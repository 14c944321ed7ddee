"""Processes that share work or render, with results that do not depend on their number."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from lmms_eval_tasks.api import InputError

Given = TypeVar("Given")
Got = TypeVar("Got")

MODEL = '<mujoco><worldbody><geom size="1"/></worldbody></mujoco>'
"""The least that can be rendered."""
_VARIABLE = "MUJOCO_GL"
_INSTALL = (
    "Install one of them. Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri (or libosmesa6); Fedora: "
    "dnf install mesa-libEGL mesa-dri-drivers (or mesa-libOSMesa)."
)


def count_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _start(processes: int, backend: str | None = None) -> ProcessPoolExecutor:
    """Processes that are started afresh: a renderer's threads would not survive a fork."""
    return ProcessPoolExecutor(processes, get_context("spawn"), _begin, (backend,))


def _begin(backend: str | None) -> None:
    """What each process does first."""
    # One thread draws: others run beside it.
    os.environ |= {"LP_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if backend is not None:
        os.environ |= {_VARIABLE: backend, "PYOPENGL_PLATFORM": backend}
    # Ctrl-C goes to all processes of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


class Workers:
    """Processes that work through a list in order, no further ahead than they are many; none where one is enough."""

    def __init__(self, processes: int | None) -> None:
        """So many processes, or as many as there are cores for this one."""
        self._many = processes if processes is not None else count_cores()
        self._pool = _start(self._many) if self._many > 1 else None

    def __enter__(self) -> Workers:
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
        # The pool's own `map` begins several more, of which a family that has its scenes needs none.
        left = iter(given)
        ahead = [self._pool.submit(work, one) for one in islice(left, self._many)]
        while ahead:
            yield ahead.pop(0).result()
            ahead += [self._pool.submit(work, one) for one in islice(left, 1)]


class RenderAnswer(NamedTuple):
    """Result of one function call in a rendering process."""

    result: Any = None
    refused: str = ""
    disk: bool = False


def answer(function: Callable[[Given], Any], thing: Given) -> RenderAnswer:
    """The result of a call, or why there is none; a process that renders makes the call."""
    try:
        return RenderAnswer(function(thing))
    except OSError as error:
        return RenderAnswer(refused=str(error), disk=True)
    except ValueError as error:
        return RenderAnswer(refused=str(error))
    except Exception as error:  # of MuJoCo, whose errors have no kind of their own
        return RenderAnswer(refused=f"{type(error).__name__}: {error}")


class Renderers:
    """Processes that render; `open_renderers` opens some."""

    def __init__(self, backend: str | None, processes: int) -> None:
        self._backend, self._many = backend, processes
        self._pool = _start(processes, backend)

    def each(self, function: Callable[[Given], Any], things: Sequence[Given]) -> Iterator[tuple[int, RenderAnswer]]:
        """Yield the number of each thing and the function's answer for it, as soon as it is ready."""
        left = iter(enumerate(things))
        running: dict[Future[RenderAnswer], int] = {}
        while True:
            for number, thing in islice(left, self._many - len(running)):
                running[self._pool.submit(answer, function, thing)] = number
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            if any(isinstance(one.exception(), BrokenProcessPool) for one in done):
                # Where a process ends, all do; each thing is tried once more by itself.
                done, _ = wait(running)
                self.close()
                self._pool = _start(self._many, self._backend)
            for one in done:
                number = running.pop(one)
                is_broken = isinstance(one.exception(), BrokenProcessPool)
                yield number, self._alone(function, things[number]) if is_broken else one.result()

    def close(self) -> None:
        """End the processes, once what they have begun is done."""
        self._pool.shutdown(cancel_futures=True)

    def _alone(self, function: Callable[[Given], Any], thing: Given) -> RenderAnswer:
        with _start(1, self._backend) as pool:
            try:
                return pool.submit(answer, function, thing).result()
            except BrokenProcessPool:
                return RenderAnswer(refused="The process that rendered it ended twice; there may be too little memory.")


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
    found = []
    for backend in ("egl", "osmesa") if is_free else (None,):
        why = _try(backend)
        if not why:
            return backend
        name = backend or os.environ.get(_VARIABLE) or "the system's own"
        found.append(f"{name}: {why}")
    what = "neither EGL nor OSMesa works" if is_free else "OpenGL does not work"
    remedy = _INSTALL if is_free else f"{_VARIABLE} may name another renderer; on Linux, leave it unset."
    raise InputError("\n  ".join([f"Scenes cannot be rendered: {what}.", *found, f"Remedy: {remedy}"]))


def _try(backend: str | None) -> str:
    """Why nothing can be rendered with a renderer; empty where something can."""
    with _start(1, backend) as pool:
        try:
            return pool.submit(answer, _render, MODEL).result().refused.partition("\n")[0]
        except BrokenProcessPool:
            return "the process ended"


def _render(model: str) -> None:
    import mujoco

    with mujoco.Renderer(mujoco.MjModel.from_xml_string(model), 8, 8) as renderer:
        renderer.render()
