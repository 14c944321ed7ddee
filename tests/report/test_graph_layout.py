"""Where the events of a graph stand, and what of them a page holds."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from lmms_eval_tasks.report.page_files import ClipShelf
from lmms_eval_tasks.report.page_items import GAP, MOST_LANES, WIDTH, place_events, task_block
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.reporting.item_views import EventGraph
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES


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
    for wrong in ({"links": (("a", "b"),)}, {"asked": ("b", "a")}, {"made_up": ("b",)}):
        with pytest.raises(ValueError, match="Expected names of events, but got b"):
            EventGraph({"a": ("one", 1.0)}, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("in_sample_home")
def test_the_block_of_a_task_has_graphs_claims_and_curves(sample_runs: tuple[Path, Path]) -> None:
    runs = list(enumerate(map(read_run, sample_runs)))
    block = task_block("countervqa", runs, ClipShelf())
    clips = {item.clips[0][0] for item in block["items"]}
    assert len(clips) <= len(block["graphs"]) < len(block["items"])
    for item in block["items"]:
        place, asked, path = item.graph
        events, links = block["graphs"][place]
        assert [event[1] for event in events if event[2]] == sorted(event[1] for event in events if event[2])
        rule = item.item_id.partition("_")[2]
        assert bool(path) is (rule in ("path", "adjacent_linked"))
        assert all(link in links for link in path)
        assert all(event[2] for event in events) is not (rule == "absent")
        for answer in item.answers:
            # A "no" claims that the one leads to the other, which it does where there is a path.
            assert answer.claim is (answer.answered == "no")
            assert OUTCOMES[answer.outcome] == ("correct" if answer.claim is bool(path) else "wrong")
        assert len(asked) == 2
    [x, y, curves] = task_block("yocausal", runs, ClipShelf())["items"][0].answers[0].curves
    assert (x, y) == ("timestep, from clean to noise", "loss")
    shapes = [(name, len(points), points[0][0]) for name, points in curves]
    assert shapes == [("forward", 10, 90.0), ("reversed", 10, 90.0)]
