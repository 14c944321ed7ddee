"""What a report shows of a question's clip: its causal graph, what is asked of it, and what a verdict claims."""

from __future__ import annotations

from functools import lru_cache

from lmms_eval_tasks.api import Record, Row
from lmms_eval_tasks.api.answers import NO
from lmms_eval_tasks.api.page import Claim, Event, EventGraph, ItemView
from lmms_eval_tasks.countervqa.released import ClipGraph

# No action's id is blank.
LEFT_OUT, GOAL = " ", "  "
"""Of what is no action of the clip: one that never happened, and the main goal."""


def item_view(record: Record, row: Row) -> ItemView:
    """The clip with its graph."""
    return ItemView({"": row["clip"]}, graph=event_graph(row))


def event_graph(row: Row) -> EventGraph:
    """The clip's actions and links; a table of an earlier version does not say which of them the question is about."""
    events, links = _of_clip(row["graph"])
    if "action_id" not in row:
        return EventGraph(events, links)
    if row["action_id"] is None:
        events = (*events, Event(LEFT_OUT, row["action"], happens=False))
    if row["outcome_id"] is None:
        events = (*events, Event(GOAL, row["outcome"]))
    return EventGraph(events, links, _asked(row))


def claims(record: Record, row: Row) -> tuple[Claim, ...]:
    """What a verdict says: *no*, that the action leads to the outcome; *yes*, that it does not."""
    if record.correct is None or record.answered is None or "action_id" not in row:
        return ()
    return (Claim(*_asked(row), holds=record.answered == NO, right=record.correct),)


def _asked(row: Row) -> tuple[str, str]:
    return row["action_id"] or LEFT_OUT, row["outcome_id"] or GOAL


@lru_cache(maxsize=16)
def _of_clip(text: str) -> tuple[tuple[Event, ...], tuple[tuple[str, str], ...]]:
    """The events and links of a `ClipGraph`, given as JSON; the questions about a clip follow each other."""
    graph = ClipGraph.model_validate_json(text)
    return (
        tuple(Event(action.id, action.text, action.start) for action in graph.actions),
        tuple((link.cause, link.effect) for link in graph.links),
    )
