"""Ranks of an evaluation as threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, TypeVar

import pytest

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host import ranks as exchange
from lmms_eval_tasks.host.ranks import Exchange

Result = TypeVar("Result")


class Failed(Exception):
    """Another rank has failed."""


class ThreadRanks:
    """Runs a function on several ranks, which share a store of torch's that lies in memory.

    Args:
        count: How many ranks.
        monkeypatch: Puts the ranks into the modules.
        modules: Those that use `current_exchange`, beside that of `gather_objects`.
        store: What they share, if it is not to be a new one.
    """

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType, store: Any = None) -> None:
        from torch.distributed import HashStore

        self.count = count
        self._here, self._store, self._failed = threading.local(), store or HashStore(), threading.Event()
        monkeypatch.setenv("WORLD_SIZE", str(count))
        monkeypatch.setattr(exchange, "LONGEST_PAUSE", 0.01)
        for module in (ranks, *modules):
            monkeypatch.setattr(module, "current_exchange", self.current_exchange)

    @property
    def here(self) -> int:
        """The rank that asks."""
        return int(self._here.rank)

    def current_exchange(self) -> Exchange:
        return Exchange(self.here, self.count, self) if self.count > 1 else Exchange()

    def __getattr__(self, name: str) -> Any:
        """The store's, as long as no rank has failed: the others would wait for it."""
        if self._failed.is_set():
            raise Failed
        return getattr(self._store, name)

    def run(self, on_rank: Callable[[int], Result]) -> list[Result]:
        """What a function returns on each rank; a rank that fails fails all."""

        def start(rank: int) -> Result:
            self._here.rank = rank
            try:
                return on_rank(rank)
            except BaseException:
                self._failed.set()
                raise

        with ThreadPoolExecutor(self.count) as pool:
            running = [pool.submit(start, rank) for rank in range(self.count)]
            failures = [error for one in running if (error := one.exception())]
        for error in failures:
            if not isinstance(error, Failed):
                raise error
        return [one.result() for one in running]
