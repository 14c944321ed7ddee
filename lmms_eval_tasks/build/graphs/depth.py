"""Causal depth: how many links the longest chain of causes has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx

STEPS = 300_000
"""Links that the search of a cyclic graph looks at; a fraction of a second."""


@dataclass(frozen=True)
class Depth:
    """Length of the longest simple path, in links."""

    edges: int
    bound: int

    @property
    def exact(self) -> bool:
        """Whether no simple path is longer than the one that was found."""
        return self.edges == self.bound

    def __str__(self) -> str:
        return str(self.edges) if self.exact else f"at least {self.edges}, at most {self.bound}"


def causal_depth(links: nx.DiGraph, steps: int = STEPS) -> Depth:
    """Links of the longest simple path of a graph; 0 for a graph without links."""
    if nx.is_directed_acyclic_graph(links):
        longest = int(nx.dag_longest_path_length(links, weight=None)) if links.number_of_edges() else 0
        return Depth(longest, longest)
    number = {node: place for place, node in enumerate(links)}
    follows = [[number[after] for after in links.successors(node)] for node in links]
    parts = nx.condensation(links)
    part_of = {number[node]: part for node, part in parts.graph["mapping"].items()}
    found, bound = [0] * len(number), [0] * len(number)
    steps_left, starts_left = steps, len(number)
    for part in reversed(list(nx.topological_sort(parts))):
        members = [number[node] for node in parts.nodes[part]["members"]]
        inside, outside = {}, {}
        for node in members:
            inside[node] = [after for after in follows[node] if part_of[after] == part]
            outside[node] = [after for after in follows[node] if part_of[after] != part]
        tails = {node: max((1 + found[after] for after in outside[node]), default=0) for node in members}
        tail_bounds = {node: max((1 + bound[after] for after in outside[node]), default=0) for node in members}
        for successors in inside.values():
            # What has few ways on is visited while it can still be left.
            successors.sort(key=lambda after: len(inside[after]))
        search = _PartSearch(inside, tails)
        exact_tails = tails == tail_bounds
        most = len(members) - 1
        for start in members:
            elsewhere = max((tail for node, tail in tail_bounds.items() if node != start), default=-most)
            bound[start] = max(tail_bounds[start], most + elsewhere)
            # Enough for some paths through the whole part, as long as there are steps for it.
            share = max(steps_left // starts_left, min(steps_left, 20 * most))
            found[start], used, complete = search.longest_from(start, bound[start], share)
            if complete and exact_tails:
                bound[start] = found[start]
            steps_left -= used
            starts_left -= 1
    return Depth(max(found), max(bound))


class _PartSearch:
    """Searches one strongly connected part."""

    def __init__(self, inside: dict[int, list[int]], tails: dict[int, int]) -> None:
        self._inside = inside
        self._tails = tails
        self._top = max(tails.values())
        self._bit = {node: 1 << place for place, node in enumerate(inside)}
        self._onwards = {
            self._bit[node]: sum(self._bit[after] for after in successors) for node, successors in inside.items()
        }
        self._all = (1 << len(inside)) - 1

    def longest_from(self, start: int, enough: int, steps: int) -> tuple[int, int, bool]:
        """The longest simple path from a node within the part, and on from there."""
        bit, tails = self._bit, self._tails
        longest, used, turned_back = tails[start], 0, False
        path, free = [start], self._all & ~bit[start]
        ahead: list[Iterator[int]] = [iter(self._inside[start])]
        while ahead and longest < enough:
            if used >= steps:
                return longest, used, False
            after = next((node for node in ahead[-1] if free & bit[node]), None)
            if after is None:
                turned_back = True
                ahead.pop()
                free |= bit[path.pop()]
                continue
            used += 1
            free &= ~bit[after]
            longest = max(longest, len(path) + tails[after])
            if turned_back:
                # What can still be visited from here bounds how much longer the path can get.
                reached, looked_at = self._reached(after, free)
                used += looked_at
                if len(path) + reached + self._top <= longest:
                    free |= bit[after]
                    continue
            path.append(after)
            ahead.append(iter(self._inside[after]))
        return longest, used, True

    def _reached(self, node: int, free: int) -> tuple[int, int]:
        """Count the free nodes that can be reached from a node by free ones, and the nodes looked at for it."""
        edge = reached = self._onwards[self._bit[node]] & free
        looked_at = 0
        while edge:
            lowest = edge & -edge
            new = self._onwards[lowest] & free & ~reached
            reached |= new
            edge = (edge ^ lowest) | new
            looked_at += 1
        return reached.bit_count(), looked_at
