"""What leads to what in a clip, as a report page shows it of an item, and what an answer says of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that happens in a clip, or that a question speaks of.

    Attributes:
        name: By which links name it.
        label: What happens, in words.
        time: When it begins, in seconds from the clip's start; None where that is not known.
        happens: Whether it does; False of one that a question makes up.
    """

    name: str
    label: str
    time: float | None = None
    happens: bool = True


@dataclass(frozen=True)
class EventGraph:
    """The events of an item's clip and the links between them.

    Attributes:
        events: The events.
        links: Cause and effect, by name.
        asked: The event that a question leaves out, and the one that it asks about; None where it asks of no two.

    Raises:
        ValueError: a name stands for two events, or a link or question names none.
    """

    events: tuple[Event, ...]
    links: tuple[tuple[str, str], ...] = ()
    asked: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        names = [event.name for event in self.events]
        if len(set(names)) < len(names):
            raise ValueError(f"Expected a name for each event, but got {', '.join(names)}.")
        if unknown := {name for pair in (*self.links, self.asked or ()) for name in pair} - set(names):
            raise ValueError(f"Expected names of events, but got {', '.join(sorted(unknown))}.")

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


@dataclass(frozen=True)
class Claim:
    """What an answer says of two events of an item's graph.

    Attributes:
        cause: The name of the one.
        effect: The name of the other.
        holds: Whether the answer says that the one leads to the other, through others perhaps.
        right: Whether that is so.
    """

    cause: str
    effect: str
    holds: bool
    right: bool
