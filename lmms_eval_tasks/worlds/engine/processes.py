"""Work that several processes share, with results that do not depend on how many they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import TypeVar

Given = TypeVar("Given")
Got = TypeVar("Got")


class Workers:
    """Processes that work through a list in order, no further ahead than they are many; none where one is enough."""

    def __init__(self, processes: int | None) -> None:
        """So many processes, or as many as there are cores for this one."""
        self._many = processes if processes is not None else count_cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        """Start them."""
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
    """Count the cores available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
