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


class Meeting:
    """Where the threads of some ranks meet; each value is copied, as between processes."""

    def __init__(self, count: int) -> None:
        self._turns = threading.Barrier(count)
        self._values: list[Any] = [None] * count

    def exchange(self, rank: int, value: Any) -> list[bytes]:
        """Return the pickled values of all ranks, in order of rank."""
        self._values[rank] = pickle.dumps(value)
        self._turns.wait()
        values = list(self._values)
        self._turns.wait()
        return values

    def fail(self) -> None:
        """Fail all ranks that wait, as where one of them has ended."""
        self._turns.abort()


class ThreadExchange(Exchange):
    """One of several ranks that are threads.

    Attributes:
        received: Bytes that it has got.
    """

    def __init__(self, rank: int, size: int, meeting: Meeting) -> None:
        super().__init__(rank, size)
        vars(self).update(meeting=meeting, received=0)

    def gather(self, value: Any) -> list[Any]:
        values = vars(self)["meeting"].exchange(self.rank, value)
        self._count(*values)
        return list(map(pickle.loads, values))

    def scatter(self, values: Sequence[Any] | None, source: int = 0) -> Any:
        sent = None if values is None else list(map(pickle.dumps, values))
        value = pickle.loads(vars(self)["meeting"].exchange(self.rank, sent)[source])[self.rank]
        self._count(value)
        return pickle.loads(value)

    def _count(self, *values: bytes) -> None:
        vars(self)["received"] += sum(map(len, values))


class ThreadRanks:
    """Runs a function on several ranks.

    Args:
        count: How many ranks.
        monkeypatch: Puts the ranks into the modules.
        modules: Those that use `current_exchange`, beside that of `gather_objects`.
    """

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
        self.count = count
        self._here, self._meeting = threading.local(), Meeting(count)
        monkeypatch.setenv("WORLD_SIZE", str(count))
        for module in (ranks, *modules):
            monkeypatch.setattr(module, "current_exchange", self.current_exchange)

    @property
    def here(self) -> int:
        """The rank that asks."""
        return int(self._here.rank)

    def current_exchange(self) -> Exchange:
        return ThreadExchange(self.here, self.count, self._meeting) if self.count > 1 else Exchange()

    def run(self, on_rank: Callable[[int], Result]) -> list[Result]:
        """What a function returns on each rank; a rank that fails fails all."""

        def start(rank: int) -> Result:
            self._here.rank = rank
            try:
                return on_rank(rank)
            except BaseException:
                self._meeting.fail()
                raise

        with ThreadPoolExecutor(self.count) as pool:
            running = [pool.submit(start, rank) for rank in range(self.count)]
            failures = [error for one in running if (error := one.exception())]
        for error in failures:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [one.result() for one in running]
