"""What leads to what in a clip, as a report page shows it of an item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class EventGraph:
    """The events of an item's clip and the links between them.

    Attributes:
        events: Name of each event to what happens, in words, and when it begins, in seconds from the clip's start; None
            where that is not known.
        links: Cause and effect, by name.
        asked: The event that a question leaves out, and the one that it asks about; None where it asks of no two.
        made_up: Those events that a question speaks of and that never happen.

    Raises:
        ValueError: a link, a question or `made_up` names no event.
    """

    events: Mapping[str, tuple[str, float | None]]
    links: tuple[tuple[str, str], ...] = ()
    asked: tuple[str, str] | None = None
    made_up: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = {name for names in (*self.links, self.asked or (), self.made_up) for name in names}
        if unknown := named - self.events.keys():
            raise ValueError(f"Expected names of events, but got {', '.join(sorted(unknown))}.")

    @property
    def ordered(self) -> list[str]:
        """The events in order of time: first those that never happen, and last those of which no time is known."""

        def place(name: str) -> tuple[bool, float]:
            time = self.events[name][1]
            return name not in self.made_up, math.inf if time is None else time

        return sorted(self.events, key=place)

    @property
    def path(self) -> tuple[tuple[str, str], ...]:
        """The links by which the event that is left out leads to the one that is asked about."""
        if self.asked is None:
            return ()
        import networkx as nx

        graph = nx.DiGraph(self.links)
        graph.add_nodes_from(self.asked)
        first, last = self.asked
        after = {first, *nx.descendants(graph, first)}
        before = {last, *nx.ancestors(graph, last)}
        return tuple(link for link in self.links if link[0] in after and link[1] in before)
