"""A clip's actions in order of time, and the causal links between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.text import describe


@dataclass(frozen=True)
class CausalGraph:
    """An action chain with causal links; made by `causal_graph`, which checks it."""

    actions: tuple[str, ...]
    links: nx.DiGraph

    @property
    def adjacent(self) -> tuple[tuple[str, str], ...]:
        """Pairs of actions that follow each other."""
        return tuple(zip(self.actions, self.actions[1:], strict=False))


def causal_graph(actions: Sequence[str], links: Iterable[tuple[str, str]], where: str = "graph") -> CausalGraph:
    """Make a graph of an action chain and its links."""
    links = list(links)
    problems = Problems()
    check_links(actions, links, where, problems)
    problems.raise_if_any("The causal graph cannot be used")
    graph = nx.DiGraph()
    graph.add_nodes_from(actions)
    graph.add_edges_from(links)
    return CausalGraph(tuple(actions), graph)


def check_links(actions: Sequence[str], links: Sequence[tuple[str, str]], where: str, problems: Problems) -> None:
    """Note each fault for which `causal_graph` would refuse a graph."""
    for action, number in Counter(actions).items():
        if number > 1:
            problems.add(where, f"Expected each action once, but got {describe(action)} {number} times.")
    known = set(actions)
    for (cause, effect), number in Counter(links).items():
        if missing := [end for end in dict.fromkeys((cause, effect)) if end not in known]:
            names = " and ".join(map(describe, missing))
            problems.add(where, f"Expected links between its {len(known)} actions, but got one with {names}.")
        elif cause == effect:
            problems.add(where, f"Expected links between two actions, but got {describe(cause)} as its own cause.")
        if number > 1:
            pair = f"{describe(cause)} to {describe(effect)}"
            problems.add(where, f"Expected each link once, but got that from {pair} {number} times.")
