"""Dealing work to several hands so that each has as much to do, and what belongs together stays together."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Sequence


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
