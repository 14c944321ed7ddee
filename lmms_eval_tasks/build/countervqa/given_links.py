"""Causal links from a file: of people, of another program, or of an earlier `build`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lmms_eval_tasks.build.countervqa.annotations import Take, numbered
from lmms_eval_tasks.build.graphs.causal_graph import check_links
from lmms_eval_tasks.countervqa.released import ClipGraph
from lmms_eval_tasks.utils.core.errors import GroupedIssues, InputError, Problems
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.forms import read_json, read_rows
from lmms_eval_tasks.utils.core.text import describe

Pair = tuple[str, str]
Links = tuple[Pair, ...]
"""Cause and effect of each link of a take."""
ENDS = (("cause", "effect"), ("from", "to"), ("from_action", "to_action"))


@dataclass(frozen=True)
class TakeLinks:
    """Known links and non-links between a take's actions."""

    links: Links
    unlinked: frozenset[Pair] | None = None
    actions: tuple[str, ...] | None = None

    def known(self) -> list[Pair]:
        """All pairs that are named, linked or not."""
        return [*self.links, *sorted(self.unlinked or ())]

    def without(self, actions: frozenset[str]) -> TakeLinks:
        """The pairs that have none of some actions."""
        links = tuple(pair for pair in self.links if not actions.intersection(pair))
        if self.unlinked is None:
            return TakeLinks(links, None, self.actions)
        unlinked = frozenset(pair for pair in self.unlinked if not actions.intersection(pair))
        return TakeLinks(links, unlinked, self.actions)


def read_links(file: Path) -> dict[str, TakeLinks]:
    """The links of each take, by the take's name: of a line of `graphs.jsonl` its clip without the ending."""
    title = f"{file.name} cannot be used"
    try:
        if file.suffix == ".jsonl":
            return _read_graphs(file, title)
        with open_regular(file) as stream:
            value = read_json(stream.read().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{title}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{title}: Expected UTF-8, but byte {error.start} is not.") from error
    except ValueError as error:
        raise InputError(f"{title}: Expected JSON, but got {error}.") from error
    if not isinstance(value, dict):
        raise InputError(f"{title}: Expected an object from take to its links, but got {describe(value)}.")
    problems = Problems()
    linked = {}
    for take, links in value.items():
        if isinstance(links, list):
            pairs = [
                _ends(link, take, f"{describe(take)}, link {place}", problems) for place, link in enumerate(links, 1)
            ]
            linked[take] = TakeLinks(tuple(pair for pair in pairs if pair))
        else:
            problems.add(describe(take), f"Expected a list of links, but got {describe(links)}.")
    problems.raise_if_any(title)
    return linked


def _read_graphs(file: Path, title: str) -> dict[str, TakeLinks]:
    issues, problems = GroupedIssues(), Problems()
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
        check_links(actions, linked[name].known(), where, problems)
    all_problems = issues.as_problems()
    all_problems.extend(problems)
    all_problems.raise_if_any(title)
    return linked


def _ends(link: Any, take: str, where: str, problems: Problems) -> tuple[str, str] | None:
    if isinstance(link, dict):
        for first, second in ENDS:
            if first in link and second in link:
                ends = _action_id(link[first], take), _action_id(link[second], take)
                if ends[0] is not None and ends[1] is not None:
                    return ends[0], ends[1]
    problems.add(where, f"Expected a link with {' or '.join('/'.join(ends) for ends in ENDS)}, but got {_shown(link)}.")
    return None


def _shown(link: Any) -> str:
    return describe(", ".join(map(str, link))) if isinstance(link, dict) else describe(link)


def _action_id(value: Any, take: str) -> str | None:
    """An action's id as the annotations have it; None for what is none."""
    if isinstance(value, dict):
        value = value.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return numbered(value)
    return value.removeprefix(f"{take}_") if isinstance(value, str) and value else None


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
        check_links(actions, usable.known(), f"{file.name}, take {describe(take.uid)}", problems)
        checked[take.uid] = usable
    problems.raise_if_any("The links cannot be used", "nothing was built")
    return checked, problems.warnings()
