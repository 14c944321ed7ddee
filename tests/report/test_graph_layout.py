"""Where the events of a graph stand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from lmms_eval_tasks.report.page_items import GAP, MOST_LANES, WIDTH, place_events
from lmms_eval_tasks.utils.reporting.item_views import EventGraph


def graph_of(number: int, *links: tuple[int, int]) -> EventGraph:
    events = {f"e{place}": (f"event {place}", float(place)) for place in range(number)}
    return EventGraph(events, tuple((f"e{one}", f"e{two}") for one, two in links))


def test_events_stand_by_time_and_do_not_overlap() -> None:
    chain = [(one, one + 1) for one in range(11)]
    star = [(0, place) for place in range(1, 20)]
    dense = combinations(range(0, 20, 3), 2)
    # A cycle, which no clip should have, is drawn all the same.
    cycle = [(0, 1), (1, 2), (2, 0)]
    graphs = [graph_of(1), graph_of(30), graph_of(12, *chain), graph_of(20, *star), graph_of(20, *dense)]
    for graph in (*graphs, graph_of(4, *cycle)):
        placed = place_events(graph)
        lefts = [placed[name][0] for name in graph.ordered]
        assert lefts == sorted(lefts) and len(placed) == len(graph.events)
        for one, two in combinations(placed.values(), 2):
            assert one[1] != two[1] or abs(one[0] - two[0]) >= WIDTH + GAP
        assert {lane for _, lane in placed.values()} <= set(range(MOST_LANES))
        order = {name: at for at, name in enumerate(graph.ordered)}
        for cause, effect in graph.links:
            if order[cause] < order[effect]:
                assert placed[effect][0] >= placed[cause][0] + WIDTH + GAP
    # A chain keeps its lane, and what is not in it has another.
    placed = place_events(graph_of(5, (0, 2), (2, 4)))
    assert [placed[f"e{place}"][1] for place in range(5)] == [0, 1, 0, 1, 0]


def test_a_graph_has_its_order_its_paths_and_checked_names() -> None:
    # What never happens comes first, and what has no time last.
    events: dict[str, tuple[str, float | None]] = {"goal": ("goal", None), "one": ("one", 4.0), "not": ("not", None)}
    assert EventGraph(events, made_up=("not",)).ordered == ["not", "one", "goal"]
    # The path has every way from what is left out to what is asked about.
    places = dict.fromkeys("abcdef", ("", 0.0))
    links = (("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "e"), ("c", "f"))
    assert EventGraph(places, links, ("a", "d")).path == links[:4]
    assert EventGraph(places, links, ("b", "c")).path == EventGraph(places, links).path == ()
    wrong: list[dict[str, Any]] = [{"links": (("a", "b"),)}, {"asked": ("b", "a")}, {"made_up": ("b",)}]
    for names in wrong:
        with pytest.raises(ValueError, match="Expected names of events, but got b"):
            EventGraph({"a": ("one", 1.0)}, **names)
