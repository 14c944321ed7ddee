"""Measures of graphs that were worked by hand: each line gives the chain, the links and what follows from them."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.construct.countervqa.graphs import Depth, adjacent_noncausal_density, causal_depth, causal_graph
from lmms_eval_tasks.utils.core.errors import InputError

GRAPHS = {
    # name: (actions, links, ANCD, depth)
    "chain": ("abcd", "ab bc cd", 0.0, 3),
    "fork": ("abcd", "ab ac ad", 2 / 3, 1),
    "collider": ("abcd", "ad bd cd", 2 / 3, 1),
    # a causes b and c, and both cause d: a-b and c-d are linked, b-c is not.
    "diamond": ("abcd", "ab ac bd cd", 1 / 3, 2),
    "diamond with its chord": ("abcd", "ab ac bc bd cd", 0.0, 3),
    # The longest simple path of a cycle of three has two links.
    "cycle": ("abc", "ab bc ca", 0.0, 2),
    "two that cause each other": ("ab", "ab ba", 0.0, 1),
    # Into the cycle, around it and out of it: a-b, b-c, c-d, d-e.
    "cycle with a way in and out": ("abcde", "ab bc cd db de", 0.0, 4),
    # One has to leave the cycle at b, where it is entered, so d and c cannot be visited before.
    "cycle that is left where it is entered": ("abcde", "ab bc cd db be", 0.25, 3),
    "two cycles": ("abcd", "ab ba bc cd dc", 0.0, 3),
    "isolated actions": ("abc", "", 1.0, 0),
    "isolated one in the middle": ("abc", "ac", 1.0, 1),
    "link against time": ("ab", "ba", 0.0, 1),
    "one action": ("a", "", None, 0),
    "empty": ("", "", None, 0),
}


@pytest.mark.parametrize(("actions", "links", "density", "depth"), GRAPHS.values(), ids=GRAPHS)
def test_measures(actions: str, links: str, density: float | None, depth: int) -> None:
    graph = causal_graph(actions, [(link[0], link[1]) for link in links.split()])
    assert adjacent_noncausal_density(graph) == (None if density is None else pytest.approx(density))
    assert causal_depth(graph.links) == Depth(depth, depth)


def test_every_fault_of_a_graph_is_in_one_message() -> None:
    with pytest.raises(InputError) as error:
        causal_graph("aab", [("a", "b"), ("a", "b"), ("b", "b"), ("x", "y"), ("a", "x")], "take 7")
    assert str(error.value).splitlines() == [
        "The causal graph cannot be used: 5 problems.",
        "  take 7: Expected each action once, but got `a` 2 times.",
        "  take 7: Expected each link once, but got that from `a` to `b` 2 times.",
        "  take 7: Expected links between two actions, but got `b` as its own cause.",
        "  take 7: Expected links between its 2 actions, but got one with `x` and `y`.",
        "  take 7: Expected links between its 2 actions, but got one with `x`.",
    ]
