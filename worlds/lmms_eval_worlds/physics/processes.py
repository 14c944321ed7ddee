"""Processes that share work or render, with results that do not depend on their number."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

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

    def __init__(self, processes: int | None, renders: bool = False) -> None:
        """So many processes, or as many as there are cores for this one; those that render are always others."""
        self._many = processes if processes is not None else count_cores()
        self._backend = find_backend() if renders else None
        self._pool = _start(self._many, self._backend) if renders or self._many > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        """End them, once what they have begun is done; what is not begun is left."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[Given], Got], given: Iterable[Given]) -> Iterator[Got]:
        """Yield the results of applying the work to each argument, in order."""
        if self._pool is None:
            yield from map(work, given)
        else:
            yield from (future.result() for future in self.futures(work, given))

    def futures(self, work: Callable[[Given], Got], given: Iterable[Given]) -> Iterator[Future[Got]]:
        """Yield what came of each argument, a result or an exception, in order."""
        # The pool's own `map` begins several more, of which a family that has its scenes needs none.
        left = iter(given)
        ahead: deque[tuple[ProcessPoolExecutor, Given, Future[Got]]] = deque()
        while True:
            assert self._pool is not None
            for one in islice(left, self._many - len(ahead)):
                ahead.append((self._pool, one, self._pool.submit(work, one)))
            if not ahead:
                return
            pool, thing, future = ahead.popleft()
            if isinstance(future.exception(), BrokenProcessPool):
                # Where a process ends, all do; each thing is tried once more by itself.
                if pool is self._pool:
                    pool.shutdown()
                    self._pool = _start(self._many, self._backend)
                future = self._try_alone(work, thing)
            yield future

    def _try_alone(self, work: Callable[[Given], Got], thing: Given) -> Future[Got]:
        with _start(1, self._backend) as pool:
            future = pool.submit(work, thing)
        if isinstance(future.exception(), BrokenProcessPool):
            future = Future()
            future.set_exception(ValueError("Its process ended twice; there may be too little memory."))
        return future


def attempt(work: Callable[[Given], Got], thing: Given) -> Got:
    """Work that renders, in one of the processes: only errors leave it that can be handed from process to process."""
    try:
        return work(thing)
    except OSError as error:
        raise OSError(str(error)) from None
    except Exception as error:  # of MuJoCo, whose errors have no kind of their own
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{kind}{error}") from None


def find_backend() -> str | None:
    """The value of MUJOCO_GL with which pictures can be rendered here; None for what it is."""
    if find_spec("mujoco") is None:
        raise InputError("Scenes cannot be rendered: MuJoCo is not installed. Remedy: pip install mujoco")
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
            pool.submit(attempt, _render, MODEL).result()
        except BrokenProcessPool:
            return "the process ended"
        except (OSError, ValueError) as error:
            return str(error).partition("\n")[0]
    return ""


def _render(model: str) -> None:
    import mujoco

    with mujoco.Renderer(mujoco.MjModel.from_xml_string(model), 8, 8) as renderer:
        renderer.render()
