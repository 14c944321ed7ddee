"""What a reader answers who saw who hit whom, and takes every path of hits for a cause."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.worlds.engine.facts import Event, EventKey, Facts

SLACK = 0.05
"""Seconds by which a body may seem to move before the hit that moves it: events are looked for only every few steps."""
_SET_OFF = ("starts", "falls")


def seen_links(facts: Facts) -> list[tuple[str, str, float]]:
    """Return the links of who set off whom and when, in order of time: a body hits another that starts or falls then or
    later."""
    links = [
        (event.body, event.other, event.time)
        for event in facts.events
        if event.kind == "hits" and _set_off(facts.events, event)
    ]
    return sorted(links, key=lambda link: (link[2], link[0], link[1]))


def answer_of_seen_graph(facts: Facts, body: str | Iterable[str], key: EventKey) -> str:
    """Whether something would still happen had a body been changed, by the graph of what was seen."""
    return NO if not _happens(facts, key) or reaches(facts, body, key) else YES


def reaches(facts: Facts, body: str | Iterable[str], key: EventKey) -> bool:
    """Whether a path of hits leads from a body, or one of several, to an event that happens, in the order of time."""
    times = [event.time for event in facts.events if event.key == key]
    if not times:
        return False
    reached = {body} if isinstance(body, str) else set(body)
    for one, other, time in seen_links(facts):
        if one in reached and time <= min(times) + SLACK:
            reached.add(other)
    return bool(reached & ({key.body, key.other} if key.kind == "hits" else {key.body}))


def _happens(facts: Facts, key: EventKey) -> bool:
    return any(event.key == key for event in facts.events)


def _set_off(events: list[Event], hit: Event) -> bool:
    return any(
        event.kind in _SET_OFF and event.body == hit.other and event.time >= hit.time - SLACK for event in events
    )
