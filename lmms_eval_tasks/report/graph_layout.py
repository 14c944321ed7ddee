"""Where the events of a graph stand on a page: by time from left to right, a chain of links in a lane of its own."""

from __future__ import annotations

from collections.abc import Mapping

from lmms_eval_tasks.utils.reporting.event_graphs import EventGraph

WIDTH = 148
"""Of an event, in pixels; the page's script has the same."""
GAP, STEP = 34, 58
"""Between two events of a lane, and from an event to the next in time at the least."""
MOST_LANES = 6
"""With so many lanes an event goes below an earlier one, even where a link has to pass behind it."""


def place_events(graph: EventGraph) -> Mapping[str, tuple[int, int]]:
    """The left edge of each event in pixels, and its lane from 0 on, by name."""
    causes: dict[str, list[str]] = {name: [] for name in graph.events}
    waiting = dict.fromkeys(graph.events, 0)
    for cause, effect in graph.links:
        causes[effect].append(cause)
        waiting[cause] += 1
    placed: dict[str, tuple[int, int]] = {}
    last: list[str] = []
    """The last event of each lane."""
    least = 0
    for event in graph.ordered:
        before = [name for name in causes[event] if name in placed]
        for name in before:
            waiting[name] -= 1
        least = max([least, *(placed[name][0] + WIDTH + GAP for name in before)])
        following = [lane for lane, name in enumerate(last) if name in before]
        free = [lane for lane, name in enumerate(last) if not waiting[name] and placed[name][0] + WIDTH + GAP <= least]
        if following or free:
            lane = (following or free)[0]
        elif len(last) < MOST_LANES:
            lane = len(last)
            last.append(event)
        else:
            lane = min(range(len(last)), key=lambda one: placed[last[one]][0])
            least = max(least, placed[last[lane]][0] + WIDTH + GAP)
        last[lane] = event
        placed[event] = (least, lane)
        least += STEP
    return placed
