"""Which of a clip's actions a question is about, as a report shows it."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_eval_tasks.countervqa.release import Action, ClipGraph, Link
from lmms_eval_tasks.countervqa.report import GOAL, LEFT_OUT, event_graph

TEXTS = {"a": "C opens the fridge.", "b": "C takes the milk.", "c": "C opens the fridge.", "d": "C pours it."}


def row_of(level: str, action: str, outcome: str) -> dict[str, Any]:
    actions = [Action(id=name, start=float(at), text=text) for at, (name, text) in enumerate(TEXTS.items())]
    graph = ClipGraph(clip="c.mp4", actions=actions, links=[Link(cause="a", effect="b"), Link(cause="b", effect="d")])
    return {"level": level, "action": action, "outcome": outcome, "graph": graph.model_dump_json()}


@pytest.mark.parametrize(
    ("row", "asked", "more"),
    [
        (row_of("L2", TEXTS["b"], TEXTS["d"]), ("b", "d"), {}),
        # Two actions are in the same words: nobody knows which of them is meant.
        (row_of("L1", TEXTS["a"], TEXTS["b"]), None, {}),
        (row_of("L3", "C drops the milk.", TEXTS["d"]), (LEFT_OUT, "d"), {LEFT_OUT: "C drops the milk."}),
        (row_of("L3", "C drops it.", "Breakfast"), (LEFT_OUT, GOAL), {LEFT_OUT: "C drops it.", GOAL: "Breakfast"}),
        # Of an action that never happens it does not matter that another one is in its words.
        (row_of("L3", TEXTS["b"], TEXTS["d"]), (LEFT_OUT, "d"), {LEFT_OUT: TEXTS["b"]}),
    ],
)
def test_what_a_question_is_about(row: dict[str, Any], asked: tuple[str, str] | None, more: dict[str, str]) -> None:
    graph = event_graph(row)
    assert graph.asked == asked and graph.links == (("a", "b"), ("b", "d"))
    assert {name: text for name, (text, _) in graph.events.items()} == {**TEXTS, **more}
    assert graph.events["c"][1] == 2.0 and graph.made_up == ((LEFT_OUT,) if LEFT_OUT in more else ())
