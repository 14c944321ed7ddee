"""Dealing work to several hands so that each has as much to do, and what belongs together stays together."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Sequence


def join(things: Sequence[Collection[Hashable]]) -> list[list[int]]:
    """Places that have to stay together: those that have a thing in common, also through others.

    Args:
        things: What each place has; a place that has nothing is alone.

    Returns:
        The places of each unit, in order; units in the order of their first places.
    """
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
    """The hand of each unit, from 0: the most expensive unit first, and each to the hand with the least to do.

    So no hand has more to do than the mean and the most expensive unit. Where hands have as much to do, the one with
    fewer things comes first.

    Args:
        costs: What each unit costs; of equal ones the first comes first.
        sizes: How many things each unit has.
        hands: How many there are, at least 1.
    """
    dealt = [0] * len(costs)
    loads = [(0.0, 0, hand) for hand in range(hands)]
    for unit in sorted(range(len(costs)), key=lambda unit: -costs[unit]):
        load, count, hand = loads[0]
        heapq.heapreplace(loads, (load + costs[unit], count + sizes[unit], hand))
        dealt[unit] = hand
    return dealt
