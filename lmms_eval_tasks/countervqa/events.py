"""What a report shows of a question's clip: its causal graph, and which two of its actions the question is about."""

from __future__ import annotations

from functools import lru_cache

from lmms_eval_tasks.api import Record, Row
from lmms_eval_tasks.api.page import EventGraph, ItemView
from lmms_eval_tasks.countervqa.probe import ABSENT_LEVEL
from lmms_eval_tasks.countervqa.released import ClipGraph

# No action's id is blank.
LEFT_OUT, GOAL = " ", "  "
"""Of what is no action of the clip: one that never happened, and the main goal."""


def item_view(record: Record, row: Row) -> ItemView:
    """The clip with its graph."""
    return ItemView({"": row["clip"]}, graph=event_graph(row))


def event_graph(row: Row) -> EventGraph:
    """The clip's actions and links, and what the question is about."""
    graph = _read(row["graph"])
    events: dict[str, tuple[str, float | None]] = {one.id: (one.text, one.start) for one in graph.actions}
    links = tuple((link.cause, link.effect) for link in graph.links)
    absent = row["level"] == ABSENT_LEVEL
    first, last = ([one.id for one in graph.actions if one.text == row[column]] for column in ("action", "outcome"))
    if absent:
        first, events[LEFT_OUT] = [LEFT_OUT], (row["action"], None)
    if absent and not last:
        last, events[GOAL] = [GOAL], (row["outcome"], None)
    asked = (first[0], last[0]) if len(first) == len(last) == 1 else None
    return EventGraph(events, links, asked, (LEFT_OUT,) if absent else ())


@lru_cache(maxsize=16)
def _read(text: str) -> ClipGraph:
    """A clip's graph; the questions about a clip follow each other."""
    return ClipGraph.model_validate_json(text)
