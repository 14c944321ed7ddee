"""Ranks of an evaluation as threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, TypeVar

import pytest

Result = TypeVar("Result")
LIMIT = 60
"""Seconds after which ranks that wait for each other give up."""


class ThreadRanks:
    """Runs a function on several ranks, which exchange objects by `gather_objects`.

    Args:
        count: How many ranks.
        monkeypatch: Puts them into modules.
        modules: Those that use the functions of `lmms_eval_tasks.host.ranks` of the same names.
    """

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        self.count = count
        self._here, self._values = threading.local(), [None] * count
        self._barrier = threading.Barrier(count, timeout=LIMIT)
        monkeypatch.setenv("WORLD_SIZE", str(count))
        for module in modules:
            for name in ("gather_objects", "world_size", "current_rank"):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, getattr(self, name))

    def world_size(self) -> int:
        return self.count

    def current_rank(self) -> int:
        return int(self._here.rank)

    def gather_objects(self, value: Any) -> list[Any]:
        self._values[self.current_rank()] = value
        self._barrier.wait()
        values = list(self._values)
        self._barrier.wait()
        return values

    def run(self, on_rank: Callable[[int], Result]) -> list[Result]:
        """What a function returns on each rank; a rank that fails fails all."""

        def start(rank: int) -> Result:
            self._here.rank = rank
            try:
                return on_rank(rank)
            except BaseException:
                self._barrier.abort()
                raise

        with ThreadPoolExecutor(self.count) as pool:
            running = [pool.submit(start, rank) for rank in range(self.count)]
            failures = [error for one in running if (error := one.exception())]
        for error in failures:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [one.result() for one in running]
