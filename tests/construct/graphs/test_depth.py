from __future__ import annotations

import time

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.construct.countervqa.graphs import (
    CausalGraph,
    adjacent_noncausal_density,
    causal_depth,
    causal_graph,
)

Links = set[tuple[int, int]]


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 7) -> tuple[int, Links]:
    """A number of actions and links among them, in any direction."""
    number = draw(st.integers(0, most))
    pairs = [(one, other) for one in range(number) for other in range(number) if one != other]
    return number, draw(st.sets(st.sampled_from(pairs))) if pairs else set()


def make(number: int, links: Links) -> CausalGraph:
    return causal_graph([str(one) for one in range(number)], sorted((str(a), str(b)) for a, b in links))


def longest_by_trying_all(links: nx.DiGraph) -> int:
    def onwards(node: str, seen: frozenset[str]) -> int:
        return max((1 + onwards(after, seen | {after}) for after in links[node] if after not in seen), default=0)

    return max((onwards(node, frozenset([node])) for node in links), default=0)


@given(small_graphs(6))
def test_a_small_graph_has_the_depth_of_trying_every_path(graph: tuple[int, Links]) -> None:
    links = make(*graph).links
    depth = causal_depth(links)
    assert (depth.exact, depth.edges) == (True, longest_by_trying_all(links))


@given(small_graphs(), st.data())
def test_an_added_link_never_lowers_depth(graph: tuple[int, Links], data: st.DataObject) -> None:
    number, links = graph
    pairs = [(a, b) for a in range(number) for b in range(number) if a != b and (a, b) not in links]
    before = causal_depth(make(number, links).links)
    if pairs:
        after = causal_depth(make(number, links | {data.draw(st.sampled_from(pairs))}).links)
        assert after.edges >= before.edges


@given(small_graphs(), st.randoms())
def test_relabelling_changes_nothing(graph: tuple[int, Links], chance: object) -> None:
    number, links = graph
    names = list(range(100, 100 + number))
    chance.shuffle(names)  # type: ignore[attr-defined]
    one = make(number, links)
    other = causal_graph([str(name) for name in names], [(str(names[a]), str(names[b])) for a, b in links])
    assert causal_depth(one.links) == causal_depth(other.links)
    assert adjacent_noncausal_density(one) == adjacent_noncausal_density(other)


@given(small_graphs())
def test_density_is_a_share(graph: tuple[int, Links]) -> None:
    density = adjacent_noncausal_density(make(*graph))
    assert density is None if graph[0] < 2 else 0.0 <= density <= 1.0  # type: ignore[operator]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.3))
def test_a_bounded_depth_is_said_to_be_bounded(seed: int, density: float) -> None:
    links = nx.gnp_random_graph(30, density, seed=seed, directed=True)
    few, many = causal_depth(links, steps=60), causal_depth(links, steps=20_000)
    for depth in (few, many):
        assert 0 <= depth.edges <= depth.bound <= 29
        assert depth.exact or str(depth) == f"at least {depth.edges}, at most {depth.bound}"
    # What one search has found lies within the bound of the other.
    assert many.edges <= few.bound
    assert few.edges <= many.bound


def test_sixty_actions_in_cycles_take_less_than_a_second() -> None:
    for density in (0.03, 0.05, 0.2):
        links = nx.gnp_random_graph(60, density, seed=1, directed=True)
        assert not nx.is_directed_acyclic_graph(links)
        start = time.process_time()
        depth = causal_depth(links)
        assert time.process_time() - start < 1.0
        assert 20 < depth.edges <= depth.bound <= 59
        assert not depth.exact or depth.edges == 59


def test_a_long_chain_and_a_long_cycle_need_no_deep_recursion() -> None:
    assert str(causal_depth(nx.path_graph(5000, nx.DiGraph))) == "4999"
    assert str(causal_depth(nx.cycle_graph(3000, nx.DiGraph))) == "2999"
