"""Measures of graphs: worked by hand, and against trying every path."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.construct.countervqa.graphs import (
    GraphMeasures,
    TakeLinks,
    adjacent_noncausal_density,
    causal_depth,
    causal_graph,
    check_graph,
    check_links,
    mean_outlier_scores,
)
from lmms_eval_tasks.construct.countervqa.rows import CounterVqaConfig
from lmms_eval_tasks.construct.engine.encoders import TFIDF, SentenceEncoder, encode_texts, find_encoder
from lmms_eval_tasks.utils.core.errors import Problems

GRAPHS = {
    # name: (actions, links, ANCD, depth)
    "chain": ("abcd", "ab bc cd", 0.0, 3),
    "fork": ("abcd", "ab ac ad", 2 / 3, 1),
    "collider": ("abcd", "ad bd cd", 2 / 3, 1),
    # a causes b and c, and both cause d: a-b and c-d are linked, b-c is not.
    "diamond": ("abcd", "ab ac bd cd", 1 / 3, 2),
    "diamond with its chord": ("abcd", "ab ac bc bd cd", 0.0, 3),
    "isolated actions": ("abc", "", 1.0, 0),
    "isolated one in the middle": ("abc", "ac", 1.0, 1),
    "link against time": ("ab", "ba", 0.0, 1),
    "one action": ("a", "", None, 0),
    "empty": ("", "", None, 0),
}


@pytest.mark.parametrize(("actions", "links", "density", "depth"), GRAPHS.values(), ids=GRAPHS)
def test_measures_by_hand(actions: str, links: str, density: float | None, depth: int) -> None:
    graph = causal_graph(actions, [(link[0], link[1]) for link in links.split()])
    assert adjacent_noncausal_density(graph) == (None if density is None else pytest.approx(density))
    assert causal_depth(graph) == depth


def test_a_pair_of_which_nothing_is_known_does_not_count_as_one_without_a_link() -> None:
    graph = causal_graph("abcd", [("a", "b")])
    known = [set(), {("b", "c")}, {("b", "c"), ("c", "d"), ("a", "d")}, None]
    assert [adjacent_noncausal_density(graph, unlinked) for unlinked in known] == [0, 1 / 3, 2 / 3, 2 / 3]


def test_every_fault_of_a_graph_is_in_one_message(expected: Expected) -> None:
    problems = Problems()
    check_links("aab", [("a", "b"), ("a", "b"), ("b", "b"), ("x", "y"), ("a", "x")], "take 7", problems)
    expected("\n".join(problems.first))


def test_links_that_lead_back_are_refused(expected: Expected) -> None:
    problems = Problems()
    check_graph("abc", TakeLinks((("a", "b"), ("b", "c"), ("c", "a"))), "take 7", problems)
    check_graph("ab", TakeLinks((("a", "b"),), frozenset({("b", "a")})), "take 8", problems)
    expected("\n".join(problems.first))


Links = set[tuple[int, int]]


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[int, Links]:
    """A number of actions and links among them, none of which leads back."""
    number = draw(st.integers(0, 6))
    pairs = [(one, other) for one in range(number) for other in range(one + 1, number)]
    return number, draw(st.sets(st.sampled_from(pairs))) if pairs else set()


def make(number: int, links: Links) -> nx.DiGraph:
    return causal_graph([str(one) for one in range(number)], sorted((str(a), str(b)) for a, b in links))


def longest_by_trying_all(links: nx.DiGraph) -> int:
    def onwards(node: str, seen: frozenset[str]) -> int:
        return max((1 + onwards(after, seen | {after}) for after in links[node] if after not in seen), default=0)

    return max((onwards(node, frozenset([node])) for node in links), default=0)


@settings(max_examples=60)
@given(small_graphs(), st.randoms())
def test_a_small_graph_has_the_depth_of_trying_every_path_whatever_its_actions_are_called(
    graph: tuple[int, Links], chance: object
) -> None:
    number, links = graph
    made, names = make(number, links), list(range(100, 100 + number))
    depth, density = causal_depth(made), adjacent_noncausal_density(made)
    assert depth == longest_by_trying_all(made)
    assert density is None if number < 2 else 0.0 <= density <= 1.0  # type: ignore[operator]
    chance.shuffle(names)  # type: ignore[attr-defined]
    other = causal_graph([str(name) for name in names], [(str(names[a]), str(names[b])) for a, b in links])
    assert (causal_depth(other), adjacent_noncausal_density(other)) == (depth, density)


def test_a_long_chain_needs_no_deep_recursion() -> None:
    assert causal_depth(nx.path_graph(1500, nx.DiGraph)) == 1499


VECTORS = {"east": (2.0, 0.0), "north": (0.0, 5.0), "west": (-1.0, 0.0), "nothing": (0.0, 0.0)}
COMPASS = SentenceEncoder("compass", lambda texts: np.array([VECTORS[text] for text in texts]))


def scores(texts: dict[str, list[str]], tasks: dict[str, str]) -> dict[str, float | None]:
    encoded = encode_texts([text for actions in texts.values() for text in actions], COMPASS)
    return mean_outlier_scores(texts, tasks, encoded)


def test_outlier_scores_by_hand() -> None:
    # The mean of east and north points north-east, at 45 degrees to both; by equation 7 both lengths divide, as they do
    # in the authors' `rank_videos.py` (CounterVQA@db72954), which calls `scipy.spatial.distance.cosine`.
    both = 0.2929
    assert scores({"g": ["east", "north"]}, {"g": "t"})["g"] == pytest.approx(both, abs=5e-5)
    # The task's centroid, not the graph's: alone each graph would score 0.
    assert scores({"g": ["east"], "h": ["north"]}, {"g": "t", "h": "t"}) == pytest.approx(
        {"g": both, "h": both}, abs=5e-5
    )
    assert scores({"g": ["east"], "h": ["north"]}, {"g": "t", "h": "u"}) == pytest.approx({"g": 0.0, "h": 0.0})
    # A repeated action pulls the mean to itself: (2, 1) / 3.
    thrice = scores({"g": ["east", "east", "north"]}, {"g": "t"})["g"]
    assert thrice == pytest.approx(1 - (2 * 2 + 1) / (3 * np.sqrt(5)))
    # A text without a direction has nothing in common with the others, nor has any with a mean of zero.
    assert scores({"g": ["nothing", "east"]}, {"g": "t"})["g"] == pytest.approx(0.5)
    assert scores({"g": ["west", "east"]}, {"g": "t"})["g"] == pytest.approx(1.0)
    assert scores({"g": [], "h": ["east"]}, {"g": "t", "h": "t"}) == {"g": None, "h": pytest.approx(0.0)}


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.lists(st.text(max_size=12), max_size=6), max_size=4))
def test_any_text_has_an_outlier_score(graphs: list[list[str]]) -> None:
    texts = {str(number): graph for number, graph in enumerate(graphs)}
    encoded = encode_texts([text for graph in graphs for text in graph], find_encoder(TFIDF))
    for graph, score in mean_outlier_scores(texts, dict.fromkeys(texts, ""), encoded).items():
        assert score is None if not texts[graph] else -1e-9 <= score <= 1.0 + 1e-9  # type: ignore[operator]


def test_filters_say_which_a_graph_fails() -> None:
    def failed(ancd: float | None, depth: int, cnda: float | None) -> Sequence[str]:
        return CounterVqaConfig().failed(GraphMeasures(ancd, depth, cnda))

    assert failed(0.2, 3, 0.12) == ()
    assert failed(0.19, 5, 0.5) == ("ANCD",)
    assert failed(0.5, 2, 0.5) == ("depth",)
    assert failed(0.5, 3, 0.11) == ("CNDA",)
    assert failed(None, 0, None) == ("ANCD", "depth", "CNDA")
