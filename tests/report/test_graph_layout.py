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


def graph_of(number: int, links: tuple[tuple[int, int], ...]) -> EventGraph:
    events = {f"e{place}": (f"event {place}", float(place)) for place in range(number)}
    return EventGraph(events, tuple((f"e{one}", f"e{two}") for one, two in links))


@pytest.mark.parametrize(
    "graph",
    [
        graph_of(1, ()),
        graph_of(30, ()),
        graph_of(12, tuple((one, one + 1) for one in range(11))),
        graph_of(20, tuple((0, place) for place in range(1, 20))),
        graph_of(20, tuple(combinations(range(0, 20, 3), 2))),
        graph_of(4, ((0, 1), (1, 2), (2, 0))),  # A cycle, which no clip should have, is drawn all the same.
    ],
    ids=["one", "unlinked", "chain", "star", "dense", "cycle"],
)
def test_events_stand_by_time_and_do_not_overlap(graph: EventGraph) -> None:
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


def test_a_chain_keeps_its_lane_and_what_is_not_in_it_has_another() -> None:
    placed = place_events(graph_of(5, ((0, 2), (2, 4))))
    assert [placed[f"e{place}"][1] for place in range(5)] == [0, 1, 0, 1, 0]


def test_what_never_happens_comes_first_and_what_has_no_time_last() -> None:
    events = {"goal": ("the goal", None), "one": ("one", 4.0), "not": ("not", None)}
    assert EventGraph(events, made_up=("not",)).ordered == ["not", "one", "goal"]


def test_the_path_has_every_way_from_what_is_left_out_to_what_is_asked_about() -> None:
    events = dict.fromkeys("abcdef", ("", 0.0))
    links = (("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "e"), ("c", "f"))
    assert EventGraph(events, links, ("a", "d")).path == links[:4]
    assert EventGraph(events, links, ("b", "c")).path == EventGraph(events, links).path == ()


def test_names_of_events_are_checked() -> None:
    for wrong in ({"links": (("a", "b"),)}, {"asked": ("b", "a")}, {"made_up": ("b",)}):
        with pytest.raises(ValueError, match="Expected names of events, but got b"):
            EventGraph({"a": ("one", 1.0)}, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow  # the sample is filmed first
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
    assert [(name, len(points), points[0][0]) for name, points in curves] == [
        ("forward", 10, 90.0),
        ("reversed", 10, 90.0),
    ]
