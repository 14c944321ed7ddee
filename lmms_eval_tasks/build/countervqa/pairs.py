"""Which pairs of actions of a graph make a question by each rule, and a sample of them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

import networkx as nx

from lmms_eval_tasks.build.countervqa.given_links import Pair
from lmms_eval_tasks.build.graphs.causal_graph import CausalGraph
from lmms_eval_tasks.countervqa.released import Rule

TRIES = 8
"""Pairs drawn for each one that is wanted: some have two actions of the same words."""


class ReachableGraph:
    """A causal graph with what each action leads to."""

    def __init__(self, graph: CausalGraph, unlinked: Collection[Pair] | None = None) -> None:
        self.graph = graph
        self._direct, self._leads_to = _reach(graph.links)
        self._may_be_direct, self._may_lead_to = self._direct, self._leads_to
        if unlinked is not None:
            perhaps = graph.links.copy()
            perhaps.add_edges_from(unjudged_pairs(graph.actions, graph.links.edges, unlinked))
            self._may_be_direct, self._may_lead_to = _reach(perhaps)
        self._rows: dict[Rule, list[int]] = {}

    def pairs(self, rule: Rule) -> list[int]:
        """For each action, in order of time, a bit for each action that makes a question by the rule with it."""
        if rule not in self._rows:
            self._rows[rule] = self._find_pairs(rule)
        return self._rows[rule]

    def _find_pairs(self, rule: Rule) -> list[int]:
        actions = range(len(self.graph.actions))
        following = [1 << (place + 1) if place + 1 < len(actions) else 0 for place in actions]
        if rule == "adjacent_linked":
            return [self._direct[place] & following[place] for place in actions]
        if rule == "path":
            later = [self._leads_to[place] >> (place + 1) << (place + 1) for place in actions]
            return [later[place] & ~self._direct[place] for place in actions]
        relation = self._may_be_direct if rule == "adjacent_unlinked" else self._may_lead_to
        from_later = [0] * len(actions)
        for place in actions:
            for earlier in _bits(relation[place] & ((1 << place) - 1)):
                from_later[earlier] |= 1 << place
        every = (1 << len(actions)) - 1
        wanted = following if rule == "adjacent_unlinked" else [every >> (one + 2) << (one + 2) for one in actions]
        return [wanted[place] & ~self._may_lead_to[place] & ~from_later[place] for place in actions]

    def actions_for(self, rule: Rule, outcome: str) -> list[str]:
        """The actions that make a question by the rule with an outcome, in order of time."""
        bit = 1 << self.graph.actions.index(outcome)
        return [self.graph.actions[place] for place, row in enumerate(self.pairs(rule)) if row & bit]

    def draw(self, rule: Rule, number: int, chance: random.Random) -> Iterator[tuple[str, str]]:
        """Pairs that make a question by the rule, in an order by chance; at least `TRIES` times `number` of many."""
        rows = self.pairs(rule)
        total = sum(row.bit_count() for row in rows)
        for place in chance.sample(range(total), min(total, TRIES * number)):
            for action, row in enumerate(rows):
                if place < row.bit_count():
                    yield self.graph.actions[action], self.graph.actions[_nth_bit(row, place)]
                    break
                place -= row.bit_count()


def unjudged_pairs(actions: Sequence[str], links: Iterable[Pair], unlinked: Iterable[Pair]) -> Iterator[Pair]:
    """Every two actions in order of time of which nobody said whether the first causes the second."""
    judged = {*links, *unlinked}
    return (pair for pair in combinations(actions, 2) if pair not in judged)


def _reach(links: nx.DiGraph) -> tuple[list[int], list[int]]:
    """For each node the bits of those it is linked to, and of those that a path of one link or more leads to."""
    number = {node: place for place, node in enumerate(links)}
    direct = [sum(1 << number[after] for after in links.successors(node)) for node in links]
    parts = nx.condensation(links)
    members: dict[int, list[int]] = {part: [number[one] for one in parts.nodes[part]["members"]] for part in parts}
    reached: dict[int, int] = {}
    leads_to = [0] * len(number)
    for part in reversed(list(nx.topological_sort(parts))):
        own = sum(1 << place for place in members[part]) if len(members[part]) > 1 else 0
        for place in members[part]:
            own |= direct[place]
        for after in parts.successors(part):
            own |= reached[after]
        reached[part] = own
        for place in members[part]:
            leads_to[place] = own
    return direct, leads_to


def _bits(row: int) -> Iterator[int]:
    while row:
        lowest = row & -row
        yield lowest.bit_length() - 1
        row ^= lowest


def _nth_bit(row: int, number: int) -> int:
    """Place of the bit that has `number` lower ones beside it."""
    for _ in range(number):
        row &= row - 1
    return (row & -row).bit_length() - 1
