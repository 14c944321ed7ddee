"""Scenes as a set of CounterVQA: `questions.jsonl` and `graphs.jsonl`, with a graph that interventions have shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lmms_eval_tasks.worlds.engine.facts import Event, EventKey, Facts
from lmms_eval_tasks.worlds.export.event_graph import causal_links, linked_events, prevented
from lmms_eval_tasks.worlds.questions.wording import had_not, happened, happens, happens_not, sentence, would_have

INTERACTION = "H2O"
"""Of the two interactions that the form has, people or things: nobody is in these clips."""


class SceneGraph(NamedTuple):
    """A scene's events and what interventions show between them, by position."""

    facts: Facts
    events: list[Event]
    links: list[tuple[int, int]]
    independent: list[tuple[int, int]]


def scene_graph(facts: Facts) -> SceneGraph:
    """Run what the graph of a scene needs; some seconds."""
    events = linked_events(facts)
    return SceneGraph(facts, events, *causal_links(events, prevented(facts.scene, events)))


def graph_line(graph: SceneGraph) -> dict[str, Any]:
    """A scene's line of `graphs.jsonl`."""
    return {
        "clip": f"{graph.facts.scene.id}.mp4",
        "task": "",
        "goal": "",
        "actions": [
            {"id": f"e{place}", "start": event.time, "text": happens(event.key), "subject": event.body}
            for place, event in enumerate(graph.events, 1)
        ],
        "links": [_ids(pair) for pair in graph.links],
        "unlinked": [_ids(pair) for pair in graph.independent],
    }


def _ids(pair: tuple[int, int]) -> dict[str, str]:
    return {"cause": f"e{pair[0] + 1}", "effect": f"e{pair[1] + 1}"}


def question_lines(graph: SceneGraph, random: np.random.Generator) -> list[dict[str, Any]]:
    """A scene's lines of `questions.jsonl`."""
    facts, events, links, independent = graph
    found = [
        *_balanced([*_first_level(links, independent)], random),
        *_balanced([*_second_level(links, independent, len(events))], random),
    ]
    lines = [_asked(events, rule, level, verdict, pair, links) for rule, level, verdict, pair in found]
    lines += _third_level(facts, events, random)
    return [
        {"id": f"{facts.scene.id}-{number:02d}", "clip": f"{facts.scene.id}.mp4", "interaction": INTERACTION, **line}
        for number, line in enumerate(lines, 1)
    ]


Rule = tuple[str, int, str, tuple[int, int]]
Pairs = Sequence[tuple[int, int]]


def _first_level(links: Pairs, independent: Pairs) -> Iterator[Rule]:
    for pair in links:
        if pair[1] - pair[0] == 1:
            yield "adjacent_linked", 1, "no", pair
    for pair in independent:
        if pair[1] - pair[0] == 1 and not _steps(links, *pair):
            yield "adjacent_unlinked", 1, "yes", pair


def _second_level(links: Pairs, independent: Pairs, count: int) -> Iterator[Rule]:
    for one in range(count):
        for other in range(one + 1, count):
            if (one, other) not in links and _steps(links, one, other):
                yield "path", 2, "no", (one, other)
    for pair in independent:
        if pair[1] - pair[0] > 1 and not _steps(links, *pair):
            yield "disconnected", 2, "yes", pair


def _steps(links: Pairs, one: int, other: int) -> list[int]:
    """The events on a way from one to another, both included; empty where there is none."""
    ways = [[one]]
    while ways:
        way = ways.pop()
        if way[-1] == other:
            return way
        ways += [[*way, after] for before, after in links if before == way[-1]]
    return []


def _balanced(found: Sequence[Rule], random: np.random.Generator) -> list[Rule]:
    by_verdict = {verdict: [rule for rule in found if rule[2] == verdict] for verdict in ("yes", "no")}
    number = min(map(len, by_verdict.values())) or max(map(len, by_verdict.values()))
    return [
        rules[place]
        for rules in by_verdict.values()
        for place in sorted(random.permutation(len(rules))[:number].tolist())
    ]


def _asked(
    events: Sequence[Event], rule: str, level: int, verdict: str, pair: tuple[int, int], links: Pairs
) -> dict[str, Any]:
    action, outcome = (events[place].key for place in pair)
    if verdict == "no":
        steps = _steps(links, *pair)
        chain = ", so that ".join(happened(events[place].key) for place in steps)
        explanation = f"No. {sentence(chain)}"
    else:
        explanation = f"Yes. {sentence(happened(outcome))} That does not depend on whether {happened(action)}."
    return {
        "level": level,
        "question": _question(action, outcome),
        "verdict": verdict,
        "explanation": explanation,
        "action": f"e{pair[0] + 1}",
        "outcome": f"e{pair[1] + 1}",
        "rule": rule,
    }


def _question(cause: EventKey, outcome: EventKey) -> str:
    return sentence(f"{had_not(cause)}, {would_have(outcome, still=True)}", "?")


def _third_level(facts: Facts, events: Sequence[Event], random: np.random.Generator) -> list[dict[str, Any]]:
    """Of an event that never happened: two bodies of the scene that did not hit each other, one for each outcome."""
    actors = sorted(facts.scene.actors)
    absent = [
        key
        for place, one in enumerate(actors)
        for other in actors[place + 1 :]
        if facts.says(key := EventKey("hits", one, other)) is False
    ]
    drawn = random.permutation(len(absent))[: min(len(events), 2)].tolist()
    lines = []
    for number, place in enumerate(drawn):
        key, outcome = absent[place], events[(number * 7) % len(events)]
        lines.append(
            {
                "level": 3,
                "question": _question(key, outcome.key),
                "verdict": "yes",
                "explanation": f"Yes. In the clip, {happens_not(key)}, so nothing changes: {happened(outcome.key)}.",
                "absent_action": happens(key),
                "outcome": f"e{events.index(outcome) + 1}",
                "rule": "absent",
            }
        )
    return lines
