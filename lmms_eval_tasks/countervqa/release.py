"""The form of a CounterVQA set: `questions.jsonl`, `graphs.jsonl` and a folder of clips."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from lmms_eval_tasks.api import Problems, RowForm, read_rows
from lmms_eval_tasks.api.release import WholeText, describe, is_safe

SPLIT = "test"
CUT_CYCLE = "Take one of these links out of the graph."
QUESTIONS, GRAPHS, CLIPS = "questions.jsonl", "graphs.jsonl", "clips"

Seconds = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Verdict = Literal["yes", "no"]
Level = Literal[1, 2, 3]
Interaction = Literal["H2H", "H2O"]
Rule = Literal["adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent", "absent_goal"]
"""How a question was made from its graph: L1 of two adjacent actions without a link (yes) or, ours, with one (no); L2
of a path of two links or more (no) or, ours, of two actions without a path (yes); L3 of an absent action and one of the
clip, or the clip's main goal (both yes)."""
OWN_RULES: tuple[Rule, ...] = ("adjacent_linked", "disconnected")
"""Those that are ours and not the paper's."""
RULE_LEVELS: Mapping[Rule, Level] = {
    "adjacent_unlinked": 1,
    "adjacent_linked": 1,
    "path": 2,
    "disconnected": 2,
    "absent": 3,
    "absent_goal": 3,
}


class Action(RowForm):
    """An action of a clip: when it begins and ends (seconds), what is done, and by whom where that is known."""

    id: WholeText
    start: Seconds
    end: Seconds | None = None
    text: WholeText
    subject: WholeText | None = None


class Link(RowForm):
    """A causal link: without the action `cause`, the action `effect` would not have happened."""

    cause: WholeText
    effect: WholeText


class ClipGraph(RowForm):
    """One line of `graphs.jsonl`: a clip's actions in order of their start, and the causal links between them."""

    clip: WholeText
    task: WholeText = ""
    goal: WholeText = ""
    actions: list[Action]
    links: list[Link]
    unlinked: list[Link] | None = None


@lru_cache(maxsize=16)
def read_graph(text: str) -> ClipGraph:
    """A clip's graph in the prepared table; the questions about a clip follow each other."""
    return ClipGraph.model_validate_json(text)


class CounterfactualQuestion(RowForm):
    """One line of `questions.jsonl`: had an action not happened, would the outcome still have?"""

    id: WholeText
    clip: WholeText
    level: Level
    interaction: Interaction
    question: WholeText
    verdict: Verdict
    explanation: WholeText
    action: WholeText | None = None
    absent_action: WholeText | None = None
    outcome: WholeText | None = None
    goal: WholeText | None = None
    partner: WholeText | None = None
    rule: Rule | None = None


def read_release(
    questions_file: Path, graphs_file: Path
) -> tuple[list[CounterfactualQuestion], dict[str, ClipGraph], Problems]:
    """The questions in the order of their file, the graph of each clip, and every problem of both files."""
    issues = Problems()
    graphs: dict[str, ClipGraph] = {}
    for where, graph in read_rows(graphs_file, ClipGraph, issues, exact=False):
        if not is_safe(graph.clip):
            expected = "Expected a path below the folder of clips, but got"
            issues.add("clip", expected, f"{describe(graph.clip)} ({where})")
        if graph.clip in graphs:
            issues.add("clip", "Expected one graph for each, but got another for", f"{describe(graph.clip)} ({where})")
        _check_actions(graph, where, issues)
        graphs.setdefault(graph.clip, graph)
    problems = Problems().extend(issues, f"{graphs_file.name}, ")
    issues = Problems()
    questions: dict[str, tuple[str, CounterfactualQuestion]] = {}
    for where, question in read_rows(questions_file, CounterfactualQuestion, issues, exact=False):
        if question.id in questions:
            issues.add("id", "Expected each once, but got again", f"{describe(question.id)} ({where})")
        questions.setdefault(question.id, (where, question))
        _check_question(question, where, graphs.get(question.clip), issues)
    for where, question in questions.values():
        if question.partner is not None:
            _, partner = questions.get(question.partner, (where, question))
            for wanted in _partner_faults(question, partner):
                issues.add("partner", f"Expected {wanted}, but got", f"{describe(question.partner)} ({where})")
    if not questions and not issues:
        issues.add("lines", "Expected questions, but", "there is none")
    problems.extend(issues, f"{questions_file.name}, ")
    return [question for _, question in questions.values()], graphs, problems


def _check_actions(graph: ClipGraph, where: str, issues: Problems) -> None:
    known: set[str] = set()
    latest = 0.0
    for number, action in enumerate(graph.actions, 1):
        place = f"({where}, entry {number})"
        if action.id in known:
            issues.add("actions.id", "Expected each once in a clip, but got again", f"{describe(action.id)} {place}")
        if not (action.id.strip() and action.text.strip()):
            issues.add("actions", "Expected an id and a text, but one is empty", place)
        if action.start < latest:
            issues.add("actions.start", "Expected actions in order of time, but got", f"{action.start:g} {place}")
        if action.end is not None and action.end < action.start:
            issues.add("actions.end", "Expected none before its start, but got", f"{action.end:g} {place}")
        known.add(action.id)
        latest = max(latest, action.start)
    _check_links(graph, known, where, issues)


def _check_links(graph: ClipGraph, known: Collection[str], where: str, issues: Problems) -> None:
    pairs: set[tuple[str, str]] = set()
    for field, listed in (("links", graph.links), ("unlinked", graph.unlinked or ())):
        for number, link in enumerate(listed, 1):
            place = f"({where}, entry {number})"
            for end in dict.fromkeys((link.cause, link.effect)):
                if end not in known:
                    issues.add(field, "Expected ids of the clip's actions, but got", f"{describe(end)} {place}")
            if link.cause == link.effect:
                issues.add(field, "Expected two actions, but got one", f"{describe(link.cause)} {place}")
            if (link.cause, link.effect) in pairs:
                issues.add(field, "Expected each once, but got again", f"{link.cause} to {link.effect} {place}")
            pairs.add((link.cause, link.effect))
    between_two = ((link.cause, link.effect) for link in graph.links if link.cause != link.effect)
    if cycle := find_cycle(between_two):
        issues.add("links", "Expected no action to cause itself, but got", f"{cycle} ({where})", CUT_CYCLE)


def find_cycle(links: Iterable[tuple[str, str]]) -> str:
    """A chain of links by which an action would cause itself, as "a to b to a"; empty where there is none."""
    import networkx as nx

    try:
        cycle = [cause for cause, _ in nx.find_cycle(nx.DiGraph(links))]
    except nx.NetworkXNoCycle:
        return ""
    return " to ".join([*cycle, cycle[0]])


def _check_question(question: CounterfactualQuestion, where: str, graph: ClipGraph | None, issues: Problems) -> None:
    for field, case in question_faults(question, graph):
        issues.add(field, case, f"({where})")
    if question.rule is not None and RULE_LEVELS[question.rule] != question.level:
        expected = f"Expected one of level {question.level}, but got"
        issues.add("rule", expected, f"{describe(question.rule)} ({where})")
    if graph is None:
        issues.add("clip", f"Expected one with a graph in {GRAPHS}, but got", f"{describe(question.clip)} ({where})")
        return
    known = {action.id for action in graph.actions}
    for field, name in (("action", question.action), ("outcome", question.outcome)):
        if name is not None and name not in known:
            issues.add(field, "Expected the id of one of the clip's actions, but got", f"{describe(name)} ({where})")


def question_faults(question: CounterfactualQuestion, graph: ClipGraph | None) -> Iterator[tuple[str, str]]:
    """Yield the fields of a question that have no text or do not fit its level, each with its fault."""
    for field in ("id", "question", "explanation"):
        if not getattr(question, field).strip():
            yield field, "Expected a text, but got none"
    action, absent, outcome, goal = question.action, question.absent_action, question.outcome, question.goal
    if question.level == 3:
        lacks_goal = outcome is None and graph is not None and not asked_goal(question, graph)
        faults = [
            (action is not None, "action", "null at level 3", "an action"),
            (not (absent or "").strip(), "absent_action", "the action that never happened at level 3", "none"),
            (None not in (outcome, goal), "goal", "null where an outcome is asked about", "a goal"),
            (lacks_goal, "outcome", "an action, or a goal here or of the graph", "neither"),
        ]
    else:
        is_same = action is not None and action == outcome
        faults = [
            (action is None, "action", "the action that is left out at levels 1 and 2", "none"),
            (is_same, "outcome", "another action than the one that is left out", "the same"),
            (outcome is None, "outcome", "the action that is asked about at levels 1 and 2", "none"),
            (absent is not None, "absent_action", "null at levels 1 and 2", "an action"),
            (goal is not None, "goal", "null at levels 1 and 2", "a goal"),
        ]
    yield from ((field, f"Expected {wanted}, but got {got}") for holds, field, wanted, got in faults if holds)


def asked_goal(question: CounterfactualQuestion, graph: ClipGraph) -> str:
    """The main goal that a question asks about, in words; empty where it asks about an action, or none is named."""
    if question.outcome is not None:
        return ""
    return (question.goal if question.goal is not None else graph.goal).strip()


def _partner_faults(question: CounterfactualQuestion, partner: CounterfactualQuestion) -> list[str]:
    """What a question's partner should be and is not."""
    if partner is question:
        return ["the id of another question"]
    fits = {
        "a question that names this one in return": partner.partner == question.id,
        "a question about the same clip": partner.clip == question.clip,
        "a question with the opposite verdict": partner.verdict != question.verdict,
    }
    return [wanted for wanted, holds in fits.items() if not holds]
