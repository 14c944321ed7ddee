"""The command `worlds export countervqa`: new scenes as a CounterVQA set for training, with graphs from
interventions."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.commands import make_console, show_progress, text_table
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds.questions.wording import had_not, happened, happens, happens_not, sentence, would_still_have
from lmms_eval_worlds.scenes.families import families
from lmms_eval_worlds.scenes.scene import Event, EventKey, Facts, Intervention, World

DRAWN = "drawn"
"""Folder of an unfinished set with the scenes that were drawn."""

export_app = typer.Typer(no_args_is_help=True, help="Write scenes as a set for training.")


@export_app.callback()
def export() -> None:
    """Write scenes as a set for training."""


@export_app.command("countervqa")
def export_countervqa(
    out: Annotated[Path, typer.Option(help="Folder for the set; repeat the command to resume.", show_default=False)],
    scenes: Annotated[int, typer.Option(help="Scenes of each family.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Of the scenes.", min=0)] = 0,
    family: Annotated[
        list[str] | None, typer.Option(help="A family, more than once for several; by default all that no test has.")
    ] = None,
) -> None:
    """Make scenes of families that the test does not have, and write them as a set of CounterVQA to train on.

    Graphs and answers are what interventions in the scene have shown; no model wrote any of them.

    Examples:
        lmms-eval-tasks worlds export countervqa --out set --scenes 100
        lmms-eval-tasks worlds export countervqa --out set --family stack --seed 3
    """
    from lmms_eval_worlds.drafts import all_facts, make_drafts
    from lmms_eval_worlds.physics.filming import SceneClip, film

    if (out / "questions.jsonl").exists():
        raise InputError(f"There is a set in {out} already; give another --out, or remove it.")
    names = chosen_families(family)
    with show_progress() as progress:
        drafts = make_drafts(scenes, seed, progress, names=names, folder=out / DRAWN)
        asked = []
        for number, facts in enumerate(all_facts(drafts, progress)):
            graph = scene_graph(facts)
            if questions := question_lines(graph, np.random.default_rng([seed, number])):
                asked.append((graph, questions))
            progress("causal graphs", number + 1, len(drafts))
        if not asked:
            raise InputError(f"No question can be asked of {len(drafts)} scenes of {', '.join(names)}; draw more.")
        film([SceneClip(one.facts.scene) for one, _ in asked], out / "clips", progress)
    # The questions come last: a set without them is one that is not finished.
    write_file(out / "graphs.jsonl", as_lines(graph_line(one) for one, _ in asked))
    lines = [line for _, questions in asked for line in questions]
    write_file(out / "questions.jsonl", as_lines(lines))
    write_file(
        out / "scenes.json", json.dumps({"families": list(names), "seed": seed, "scenes": len(asked)}, indent=2) + "\n"
    )
    shutil.rmtree(out / DRAWN, ignore_errors=True)
    console = make_console()
    table = text_table(None, "level", "yes", "no")
    counts = Counter((line["level"], line["verdict"]) for line in lines)
    for level in (1, 2, 3):
        table.add_row(str(level), *(f"{counts[level, verdict]:,}" for verdict in ("yes", "no")))
    console.print(table)
    console.print(f"{len(lines):,} questions about {len(asked):,} scenes of {', '.join(names)}")
    console.print(f"Next:  lmms-eval-tasks train countervqa sft --source {out} --out OUT --dry-run", soft_wrap=True)


def chosen_families(named: Sequence[str] | None) -> tuple[str, ...]:
    """The families to make scenes of: those that are named, or all that the test does not have."""
    others = tuple(name for name, family in families().items() if family.for_training)
    if unknown := sorted(set(named or ()) - families().keys()):
        raise InputError(f"Expected families, any of {', '.join(others)}, but got {', '.join(unknown)}.")
    if known := sorted(set(named or ()) - set(others)):
        raise InputError(
            f"The test has scenes of {', '.join(known)}, so that a model trained on them would know it; "
            f"choose from {', '.join(others)}."
        )
    return tuple(dict.fromkeys(named)) if named else others


KINDS = frozenset({"hits", "falls", "enters", "starts"})
"""Events that may be a cause or an effect. That something comes to rest, or is seen no more, causes nothing."""


def linked_events(facts: Facts) -> list[Event]:
    """The events of a graph, in order of time: sure ones, once each, and no start that a hit or a fall already says."""
    found: dict[EventKey, Event] = {}
    for event in facts.events:
        if event.kind in KINDS and event.body in facts.scene.actors and facts.says(event.key):
            found.setdefault(event.key, event)
    said = {body for event in found.values() if event.kind != "starts" for body in (event.body, event.other)}
    return [event for event in found.values() if event.kind != "starts" or event.body not in said]


def causal_links(
    events: Sequence[Event], worlds: Sequence[World]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The direct links between events, and the pairs that interventions show to be independent; both by position."""
    verdicts = {
        (one, other): _depends(worlds[one], events[one], events[other])
        for one, other in combinations(range(len(events)), 2)
    }
    holds = {pair for pair, verdict in verdicts.items() if verdict}
    direct = [
        (one, other)
        for one, other in sorted(holds)
        if not any((one, middle) in holds and (middle, other) in holds for middle in range(one + 1, other))
    ]
    return direct, sorted(pair for pair, verdict in verdicts.items() if verdict is False)


def _depends(world: World, cause: Event, effect: Event) -> bool | None:
    if world.says(cause.key) is not False or {effect.body, effect.other} & set(world.intervention.bodies):
        return None
    happens = world.says(effect.key)
    return None if happens is None else not happens


INTERACTION = "H2O"
"""Of the two interactions that the form has, people or things: nobody is in these clips."""


class SceneGraph(NamedTuple):
    """A scene's events and what interventions show between them, by position."""

    facts: Facts
    events: list[Event]
    links: list[tuple[int, int]]
    independent: list[tuple[int, int]]


def scene_graph(facts: Facts) -> SceneGraph:
    """Run the scene with each body that does something held where it is from the start; some seconds."""
    from lmms_eval_worlds.physics.nearly_equal import nearly_equal
    from lmms_eval_worlds.physics.other_worlds import settle_world

    events, near = linked_events(facts), nearly_equal(facts.scene)
    held = {
        name: settle_world(facts.scene, near, Intervention(kind="freeze", bodies=[name]))
        for name in dict.fromkeys(event.body for event in events)
    }
    return SceneGraph(facts, events, *causal_links(events, [held[event.body] for event in events]))


def graph_line(graph: SceneGraph) -> dict[str, Any]:
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
    rules = list(_rules(graph))
    found = [rule for level in (1, 2) for rule in _balanced([rule for rule in rules if rule.level == level], random)]
    lines = [*(_asked(graph, rule) for rule in found), *_third_level(graph, random)]
    name = graph.facts.scene.id
    return [
        {"id": f"{name}-{number:02d}", "clip": f"{name}.mp4", "interaction": INTERACTION, **line}
        for number, line in enumerate(lines, 1)
    ]


class GraphRule(NamedTuple):
    """What a graph says of two events; `way` leads from the one to the other, and is empty where nothing links them."""

    name: str
    level: int
    pair: tuple[int, int]
    way: list[int]

    @property
    def verdict(self) -> str:
        return "no" if self.way else "yes"


def _rules(graph: SceneGraph) -> Iterator[GraphRule]:
    for pair in graph.links:
        if pair[1] - pair[0] == 1:
            yield GraphRule("adjacent_linked", 1, pair, list(pair))
    for pair in combinations(range(len(graph.events)), 2):
        if pair not in graph.links and (way := _way(graph.links, *pair)):
            yield GraphRule("path", 2, pair, way)
    for pair in graph.independent:
        if not _way(graph.links, *pair):
            name, level = ("adjacent_unlinked", 1) if pair[1] - pair[0] == 1 else ("disconnected", 2)
            yield GraphRule(name, level, pair, [])


def _way(links: Sequence[tuple[int, int]], one: int, other: int) -> list[int]:
    """The events on a way from one to another, both included; empty where there is none."""
    ways = [[one]]
    while ways:
        way = ways.pop()
        if way[-1] == other:
            return way
        ways += [[*way, after] for before, after in links if before == way[-1]]
    return []


def _balanced(found: Sequence[GraphRule], random: np.random.Generator) -> list[GraphRule]:
    by_verdict = [[rule for rule in found if rule.verdict == verdict] for verdict in ("yes", "no")]
    number = min(map(len, by_verdict)) or max(map(len, by_verdict))
    return [rules[place] for rules in by_verdict for place in sorted(random.permutation(len(rules))[:number].tolist())]


def _asked(graph: SceneGraph, rule: GraphRule) -> dict[str, Any]:
    action, outcome = (graph.events[place].key for place in rule.pair)
    if rule.way:
        chain = ", so that ".join(happened(graph.events[place].key) for place in rule.way)
        explanation = f"No. {sentence(chain)}"
    else:
        explanation = f"Yes. {sentence(happened(outcome))} That does not depend on whether {happened(action)}."
    return {
        "level": rule.level,
        "question": _question(action, outcome),
        "verdict": rule.verdict,
        "explanation": explanation,
        "action": f"e{rule.pair[0] + 1}",
        "outcome": f"e{rule.pair[1] + 1}",
        "rule": rule.name,
    }


def _question(cause: EventKey, outcome: EventKey) -> str:
    return sentence(f"{had_not(cause)}, {would_still_have(outcome)}", "?")


def _third_level(graph: SceneGraph, random: np.random.Generator) -> list[dict[str, Any]]:
    """Of an event that never happened: two bodies of the scene that did not hit each other, one for each outcome."""
    facts, events = graph.facts, graph.events
    hits = [EventKey("hits", *pair) for pair in combinations(sorted(facts.scene.actors), 2)]
    absent = [key for key in hits if facts.says(key) is False]
    lines = []
    for number, place in enumerate(random.permutation(len(absent))[: min(len(events), 2)].tolist()):
        at = (number * 7) % len(events)
        key, outcome = absent[place], events[at].key
        lines.append(
            {
                "level": 3,
                "question": _question(key, outcome),
                "verdict": "yes",
                "explanation": f"Yes. In the clip, {happens_not(key)}, so nothing changes: {happened(outcome)}.",
                "absent_action": happens(key),
                "outcome": f"e{at + 1}",
                "rule": "absent",
            }
        )
    return lines
