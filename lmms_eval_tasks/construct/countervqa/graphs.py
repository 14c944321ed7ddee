"""Causal graphs of clips' actions: made and checked, read from files of links, measured and filtered.

Source: CounterVQA (arXiv 2511.19923): adjacent non-causal density (ANCD), causal depth, and the outlier score of
causal node diversity (CNDA), with the least values of `CounterVqaConfig`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import AliasChoices, BeforeValidator, Field

from lmms_eval_tasks.construct.countervqa.takes import Take, numbered, read_value
from lmms_eval_tasks.construct.engine.encoders import EncodedTexts
from lmms_eval_tasks.countervqa.release import CUT_CYCLE, ClipGraph, find_cycle
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import ReleaseRow, mismatch, read_rows, validate_value
from lmms_eval_tasks.utils.core.text import describe

if TYPE_CHECKING:
    import networkx as nx

Pair = tuple[str, str]
"""Cause and effect of a link."""


def causal_graph(actions: Sequence[str], links: Iterable[Pair]) -> nx.DiGraph:
    """The graph of actions in their order, and their links, which are checked where they are read."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(actions)
    graph.add_edges_from(links)
    return graph


def check_graph(actions: Sequence[str], links: TakeLinks, where: str, problems: Problems) -> None:
    """Check the links of a clip, and the pairs that are known to be none."""
    check_links(actions, links.known(), where, problems)
    if cycle := find_cycle(pair for pair in links.links if pair[0] != pair[1]):
        problems.add(where, f"Expected no action to cause itself, but got {cycle}.", remedy=CUT_CYCLE)


def check_links(actions: Sequence[str], links: Sequence[tuple[str, str]], where: str, problems: Problems) -> None:
    for action, number in Counter(actions).items():
        if number > 1:
            problems.add(where, f"Expected each action once, but got {describe(action)} {number} times.")
    known = set(actions)
    for (cause, effect), number in Counter(links).items():
        if missing := [end for end in dict.fromkeys((cause, effect)) if end not in known]:
            names = " and ".join(map(describe, missing))
            problems.add(where, f"Expected links between its {len(known)} actions, but got one with {names}.")
        elif cause == effect:
            problems.add(where, f"Expected links between two actions, but got {describe(cause)} as its own cause.")
        if number > 1:
            pair = f"{describe(cause)} to {describe(effect)}"
            problems.add(where, f"Expected each link once, but got that from {pair} {number} times.")


def causal_depth(links: nx.DiGraph) -> int:
    """Links of the longest chain of a graph, which has no cycle; 0 for a graph without links."""
    import networkx as nx

    return int(nx.dag_longest_path_length(links, weight=None))


def _action_id(value: object) -> str:
    """An action's id as the annotations have it, from its place or from the action itself."""
    value = value.get("id") if isinstance(value, dict) else value
    if isinstance(value, int) and not isinstance(value, bool):
        return numbered(value)
    if not (isinstance(value, str) and value):
        raise mismatch("an action's id", value)
    return value


ActionId = Annotated[str, BeforeValidator(_action_id)]


class GivenLink(ReleaseRow):
    cause: Annotated[ActionId, Field(validation_alias=AliasChoices("cause", "from", "from_action"))]
    effect: Annotated[ActionId, Field(validation_alias=AliasChoices("effect", "to", "to_action"))]


@dataclass(frozen=True)
class TakeLinks:
    links: tuple[Pair, ...]
    unlinked: frozenset[Pair] | None = None
    actions: tuple[str, ...] | None = None

    def known(self) -> list[Pair]:
        return [*self.links, *sorted(self.unlinked or ())]

    def without(self, actions: frozenset[str]) -> TakeLinks:
        links = tuple(pair for pair in self.links if not actions.intersection(pair))
        unlinked = frozenset(pair for pair in self.unlinked or () if not actions.intersection(pair))
        return TakeLinks(links, None if self.unlinked is None else unlinked, self.actions)


def read_links(file: Path) -> dict[str, TakeLinks]:
    """The links of each take, by the take's name: of a line of `graphs.jsonl` its clip without the ending."""
    title = f"{file.name} cannot be used"
    if file.suffix == ".jsonl":
        try:
            return _read_graphs(file, title)
        except OSError as error:
            raise InputError(f"{title}: {error.strerror or error}.") from error
    value = read_value(file)
    if not isinstance(value, dict):
        raise InputError(f"{title}: Expected an object from take to its links, but got {describe(value)}.")
    problems = Problems()
    linked = {}
    for take, links in value.items():
        if not isinstance(links, list):
            problems.add(describe(take), f"Expected a list of links, but got {describe(links)}.")
            continue
        pairs = []
        for place, link in enumerate(links, 1):
            if one := validate_value(link, GivenLink, problems, f"{describe(take)}, link {place}"):
                pairs.append((one.cause.removeprefix(f"{take}_"), one.effect.removeprefix(f"{take}_")))
        linked[take] = TakeLinks(tuple(pairs))
    problems.raise_if_any(title)
    return linked


def _read_graphs(file: Path, title: str) -> dict[str, TakeLinks]:
    issues, problems = Problems(), Problems()
    linked: dict[str, TakeLinks] = {}
    for where, graph in read_rows(file, ClipGraph, issues):
        name = str(PurePosixPath(graph.clip).with_suffix("")) if graph.clip else ""
        if name in linked:
            issues.add("clip", "Expected each once, but got again", f"{describe(graph.clip)} ({where})")
        actions = tuple(action.id for action in graph.actions)
        links = tuple((link.cause, link.effect) for link in graph.links)
        unlinked = graph.unlinked
        judged = None if unlinked is None else frozenset((link.cause, link.effect) for link in unlinked)
        linked[name] = TakeLinks(links, judged, actions)
        check_graph(actions, linked[name], where, problems)
    Problems().extend(issues).extend(problems).raise_if_any(title)
    return linked


def links_of_takes(
    takes: Sequence[Take], linked: Mapping[str, TakeLinks], file: Path
) -> tuple[dict[str, TakeLinks], tuple[str, ...]]:
    """The links of each take that the file has, in the order of the takes, and warnings."""
    problems = Problems()
    by_name = {name: take for take in takes for name in (str(PurePosixPath(take.clip).with_suffix("")), take.uid)}
    links: dict[str, TakeLinks] = {}
    for name, one in linked.items():
        if name not in by_name:
            problems.add(file.name, f"Expected links of annotated takes, but got those of {describe(name)}.")
        elif by_name[name].uid in links:
            problems.add(file.name, f"Expected the links of each take once, but got those of {describe(name)} again.")
        else:
            links[by_name[name].uid] = one
    checked: dict[str, TakeLinks] = {}
    for take in takes:
        if take.uid not in links:
            continue
        usable = links[take.uid].without(take.left_out)
        if fewer := len(links[take.uid].links) - len(usable.links):
            problems.warn("Takes with links of descriptions that are left out", f"{take.uid}: {fewer}")
        actions = [action.id for action in take.actions]
        check_graph(actions, usable, f"{file.name}, take {describe(take.uid)}", problems)
        checked[take.uid] = usable
    problems.raise_if_any("The links cannot be used", "nothing was built")
    return checked, problems.warnings()


FILTERS = ("ANCD", "depth", "CNDA")
"""In the order in which they are applied."""


@dataclass(frozen=True)
class GraphMeasures:
    ancd: float | None
    depth: int
    cnda: float | None


def adjacent_noncausal_density(graph: nx.DiGraph, unlinked: Collection[Pair] | None = None) -> float | None:
    """Adjacent pairs known to have no link, in either direction, over all adjacent pairs; None without a pair.

    Without `unlinked` every pair without a link is known to have none.
    """
    pairs, has_link = list(pairwise(graph)), graph.has_edge
    free = [pair for pair in pairs if not (has_link(*pair) or has_link(*reversed(pair)))]
    known = free if unlinked is None else [pair for pair in free if pair in unlinked]
    return len(known) / len(pairs) if pairs else None


def mean_outlier_scores(
    texts: Mapping[str, Sequence[str]], tasks: Mapping[str, str], encoded: EncodedTexts
) -> dict[str, float | None]:
    """CNDA of each graph: the mean outlier score of its actions among those of the same task (equations 6 to 8)."""
    members: dict[str, list[str]] = {}
    for graph in texts:
        members.setdefault(tasks[graph], []).append(graph)
    means: dict[str, float | None] = dict.fromkeys(texts)
    for graphs in members.values():
        scores = encoded.outlier_scores([text for graph in graphs for text in texts[graph]])
        ends = np.cumsum([len(texts[graph]) for graph in graphs])
        parts = zip(graphs, np.split(scores, ends[:-1]), strict=True)
        means |= {graph: float(part.mean()) for graph, part in parts if len(part)}
    return means
