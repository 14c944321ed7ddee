"""Ranks of an evaluation as threads of one process."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, TypeVar

import pytest

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host.ranks import Exchange

Result = TypeVar("Result")


class ThreadExchange(Exchange):
    """One of several ranks that are threads; each value is copied, as between processes."""

    def __init__(self, rank: int, size: int, turns: threading.Barrier, values: list[Any]) -> None:
        super().__init__(rank, size)
        vars(self).update(turns=turns, values=values)

    def _exchange(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in order of rank."""
        turns, values = vars(self)["turns"], vars(self)["values"]
        values[self.rank] = pickle.dumps(value)
        turns.wait()
        sent = list(map(pickle.loads, values))
        turns.wait()
        return sent

    def gather(self, value: Any) -> list[Any]:
        return self._exchange(value)

    def scatter(self, values: Sequence[Any] | None, source: int = 0) -> Any:
        return self._exchange(values)[source][self.rank]


class ThreadRanks:
    """Runs a function on several ranks, which the modules that use `current_exchange` are given."""

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        self.count, self._here = count, threading.local()
        self._turns, self._values = threading.Barrier(count), [None] * count
        monkeypatch.setenv("WORLD_SIZE", str(count))
        for module in (ranks, *modules):
            monkeypatch.setattr(module, "current_exchange", self.current_exchange)

    @property
    def here(self) -> int:
        """The rank that asks."""
        return int(self._here.rank)

    def current_exchange(self) -> Exchange:
        if self.count == 1:
            return Exchange()
        return ThreadExchange(self.here, self.count, self._turns, self._values)

    def run(self, on_rank: Callable[[int], Result]) -> list[Result]:
        """What a function returns on each rank; a rank that fails fails all."""

        def start(rank: int) -> Result:
            self._here.rank = rank
            try:
                return on_rank(rank)
            except BaseException:
                self._turns.abort()
                raise

        with ThreadPoolExecutor(self.count) as pool:
            running = [pool.submit(start, rank) for rank in range(self.count)]
            failures = [error for one in running if (error := one.exception())]
        for error in failures:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [one.result() for one in running]
