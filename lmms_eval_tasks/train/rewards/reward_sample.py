"""A question as the rewards read it: the clip's actions and links, the pair that is asked about, the key."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx


@dataclass(frozen=True)
class RewardSample:
    actions: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    links: frozenset[tuple[int, int]] = frozenset()
    intervened: int | None = None
    queried: int | None = None
    absent: str | None = None
    key: str | None = None
    options: tuple[str, ...] = ()
    question: str = ""
    clip: str = ""

    @cached_property
    def graph(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.actions)))
        graph.add_edges_from(sorted(self.links))
        return graph

    @cached_property
    def reachable(self) -> tuple[frozenset[int], ...]:
        """For each action, those that it leads to by one link or more."""
        return tuple(frozenset(nx.descendants(self.graph, place)) for place in range(len(self.actions)))

    @property
    def asks_for_a_chain(self) -> bool:
        """Whether links lead from the action that is left out to the one that is asked about."""
        if self.intervened is None or self.queried is None:
            return False
        return self.queried in self.reachable[self.intervened]

    @cached_property
    def relevant(self) -> frozenset[int]:
        """The actions that an answer has to speak of: those between the two asked about, or causes of the second."""
        if self.queried is None:
            return frozenset(range(len(self.actions)))
        if self.intervened is not None and self.asks_for_a_chain:
            ahead = nx.single_source_shortest_path_length(self.graph, self.intervened)
            behind = nx.single_source_shortest_path_length(self.graph.reverse(copy=False), self.queried)
            shortest = ahead[self.queried]
            return frozenset(place for place in ahead.keys() & behind if ahead[place] + behind[place] == shortest)
        causes = frozenset(self.graph.predecessors(self.queried))
        return causes | {self.queried} | ({self.intervened} if self.intervened is not None else frozenset())


def read_sample(columns: Mapping[str, Any]) -> RewardSample:
    """A sample from the columns of a training row; what cannot be read is left out, and nothing is raised."""
    graph = _object(columns.get("graph"))
    actions = [action for action in _list(graph.get("actions")) if isinstance(action, Mapping)]
    # Permuted actions are the same actions: those with times are put into their order.
    starts = [_number(action.get("start")) for action in actions]
    if actions and all(start is not None for start in starts):
        order = sorted(range(len(actions)), key=lambda at: (starts[at], _number(actions[at].get("end")) or 0.0))
        actions = [actions[at] for at in order]
    texts = tuple(_text(action.get("text")) for action in actions)
    ids = tuple(_text(action.get("id", place)) for place, action in enumerate(actions))
    place_of = {name: place for place, name in reversed(list(enumerate(ids)))}
    links = set()
    for link in _list(graph.get("links")):
        match link:
            case {"cause": cause, "effect": effect} | [cause, effect]:
                one, other = place_of.get(_text(cause)), place_of.get(_text(effect))
                if one is not None and other is not None and one != other:
                    links.add((one, other))
    intervened = _place(columns.get("action"), place_of, texts)
    absent = _text(columns.get("absent_action")).strip() or None
    if intervened is None and absent is None and actions:
        # A prepared table has the action in words, also the one that never happened.
        absent = _text(columns.get("action")).strip() or None
    key = next((columns[name] for name in ("answer", "verdict", "solution") if columns.get(name) is not None), None)
    options = columns.get("options")
    if isinstance(options, str):
        options = _json(options)
    return RewardSample(
        actions=texts,
        ids=ids,
        links=frozenset(links),
        intervened=intervened,
        queried=_place(columns.get("outcome"), place_of, texts),
        absent=absent if intervened is None else None,
        key=_text(key).strip() or None,
        options=tuple(_text(option) for option in _list(options)),
        question=_text(columns.get("question")),
        clip=_text(columns.get("clip")),
    )


def _place(value: Any, place_of: Mapping[str, int], texts: Sequence[str]) -> int | None:
    if value is None or isinstance(value, bool):
        return None
    name = _text(value)
    if name in place_of:
        return place_of[name]
    return texts.index(name) if name and name in texts else None


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, (str, bytes)):
        value = _json(value)
    return value if isinstance(value, Mapping) else {}


def _json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _list(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    # Arrays of other libraries, such as the columns of a parquet file.
    as_list = getattr(value, "tolist", None)
    listed = as_list() if callable(as_list) else None
    return listed if isinstance(listed, list) else []


def _number(value: Any) -> float | None:
    # No integer of JSON is too long to be compared, but one can be too long to become a float.
    is_finite = isinstance(value, (int, float)) and abs(value) <= sys.float_info.max
    return float(value) if is_finite else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
