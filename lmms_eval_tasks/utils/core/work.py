"""Work dealt evenly to workers or done in parallel threads, the processor cores for it, and progress callbacks."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar


def join(things: Sequence[Collection[Hashable]]) -> list[list[int]]:
    """Places that have to stay together: those that have a thing in common, also through others."""
    import networkx

    together = networkx.Graph()
    for of_place in things:
        networkx.add_path(together, of_place)
    unit_of = {thing: unit for unit, joined in enumerate(networkx.connected_components(together)) for thing in joined}
    units: dict[int, list[int]] = {}
    for place, of_place in enumerate(things):
        unit = next((unit_of[thing] for thing in of_place), -1 - place)
        units.setdefault(unit, []).append(place)
    return list(units.values())


def deal(costs: Sequence[float], sizes: Sequence[int], hands: int) -> list[int]:
    """The hand of each unit, from 0: the most expensive unit first, and each to the hand with the least to do."""
    dealt = [0] * len(costs)
    loads = [(0.0, 0, hand) for hand in range(hands)]
    for unit in sorted(range(len(costs)), key=lambda unit: -costs[unit]):
        load, count, hand = loads[0]
        heapq.heapreplace(loads, (load + costs[unit], count + sizes[unit], hand))
        dealt[unit] = hand
    return dealt


def own_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE") or 1))


Progress = Callable[[str, int, int], None]
"""A function that long work calls with what is being done ("test: placing clips"), how many are done, and how many
there are."""


def no_progress(what: str, done: int, total: int) -> None:
    """A `Progress` that shows nothing: the default of what takes one."""


K = TypeVar("K")
T = TypeVar("T")


def in_parallel(things: Collection[K], work: Callable[[K], T], progress: Progress, what: str) -> Iterator[tuple[K, T]]:
    """Each thing and what `work` returns for it, in the given order; several are worked on in parallel threads."""
    with ThreadPoolExecutor(max_workers=min(32, (os.cpu_count() or 1) + 4)) as pool:
        for done, result in enumerate(zip(things, pool.map(work, things), strict=True), 1):
            yield result
            progress(what, done, len(things))
