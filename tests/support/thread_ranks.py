"""Ranks of an evaluation as threads of one process."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host.ranks import Exchange


class ThreadExchange(Exchange):
    """One of several ranks that are threads; each value is copied, as between processes."""

    def __init__(self, rank: int, turns: threading.Barrier, values: list[Any]) -> None:
        super().__init__(rank, len(values))
        vars(self).update(turns=turns, values=values)

    def gather(self, value: Any) -> list[Any]:
        turns, values = vars(self)["turns"], vars(self)["values"]
        values[self.rank] = pickle.dumps(value)
        turns.wait()
        sent = list(map(pickle.loads, values))
        turns.wait()
        return sent

    def scatter(self, values: Sequence[Any] | None, source: int = 0) -> Any:
        return self.gather(values)[source][self.rank]


class ThreadRanks:
    """Runs a function on several ranks, which the modules that use `current_exchange` are given."""

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        turns, values = threading.Barrier(count), [None] * count
        self.exchanges = [ThreadExchange(rank, turns, values) for rank in range(count)] if count > 1 else [Exchange()]
        self._turns, self._thread = turns, threading.local()
        monkeypatch.setenv("WORLD_SIZE", str(count))
        for module in (ranks, *modules):
            monkeypatch.setattr(module, "current_exchange", lambda: self.exchanges[self.here])

    @property
    def here(self) -> int:
        """The rank that asks."""
        return int(self._thread.rank)

    def run(self, on_rank: Callable[[int], Any]) -> list[Any]:
        """What a function returns on each rank; a rank that fails fails all."""

        def start(rank: int) -> Any:
            self._thread.rank = rank
            try:
                return on_rank(rank)
            except BaseException:
                self._turns.abort()
                raise

        with ThreadPoolExecutor(len(self.exchanges)) as pool:
            running = [pool.submit(start, rank) for rank in range(len(self.exchanges))]
        failures = [error for one in running if (error := one.exception())]
        for error in failures:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [one.result() for one in running]
