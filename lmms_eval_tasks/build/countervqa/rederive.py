"""Checks a set: derives every question's verdict from its graph once more, by networkx and not by what made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

import networkx as nx

from lmms_eval_tasks.build.countervqa.absent import same_words
from lmms_eval_tasks.countervqa.released import (
    GRAPHS,
    QUESTIONS,
    ClipGraph,
    CounterfactualQuestion,
    Level,
    Rule,
    Verdict,
    asked_goal,
)
from lmms_eval_tasks.utils.core.errors import GroupedIssues, InputError, Problems
from lmms_eval_tasks.utils.core.forms import read_rows
from lmms_eval_tasks.utils.core.text import describe

BY_RULE: Mapping[Rule, tuple[Level, Verdict]] = {
    "adjacent_unlinked": (1, "yes"),
    "adjacent_linked": (1, "no"),
    "path": (2, "no"),
    "disconnected": (2, "yes"),
    "absent": (3, "yes"),
    "absent_goal": (3, "yes"),
}


class GraphOfClip:
    """A clip's graph as networkx has it, and beside it with every link that there may be: nobody judged those pairs."""

    def __init__(self, graph: ClipGraph) -> None:
        self._row = graph
        self.place = {action.id: number for number, action in enumerate(graph.actions)}
        self.texts = {action.id: action.text for action in graph.actions}
        self.links = nx.DiGraph()
        self.links.add_nodes_from(self.place)
        self.links.add_edges_from((link.cause, link.effect) for link in graph.links)
        self.possible = self.links
        if graph.unlinked is not None:
            none = {(link.cause, link.effect) for link in graph.unlinked}
            self.possible = self.links.copy()
            self.possible.add_edges_from(pair for pair in combinations(self.place, 2) if pair not in none)

    def disagreement(self, question: CounterfactualQuestion) -> str | None:
        """Return the reason a question does not follow from the graph by its rule; None if it does, or was not made by
        rule."""
        if question.rule is None:
            return None
        if (question.level, question.verdict) != BY_RULE[question.rule]:
            level, verdict = BY_RULE[question.rule]
            return f"by the rule {question.rule} it is of level {level} with the verdict {verdict}"
        if question.rule == "absent_goal":
            return self._absent(question) if asked_goal(question, self._row) else "it asks of no main goal"
        if question.outcome not in self.place:
            return f"the outcome {describe(question.outcome)} is no action of the clip"
        if question.rule == "absent":
            return self._absent(question)
        if question.action not in self.place:
            return f"the action {describe(question.action)} is no action of the clip"
        return self._relation(question.rule, question.action, question.outcome)

    def _absent(self, question: CounterfactualQuestion) -> str | None:
        if not question.absent_action:
            return "it names no absent action"
        if same_words(question.absent_action) in map(same_words, self.texts.values()):
            return f"the clip shows {describe(question.absent_action)}"
        return None

    def _relation(self, rule: Rule, action: str, outcome: str) -> str | None:
        if not self._holds(rule, action, outcome, self.links):
            return f"{describe(action)} and {describe(outcome)} are not {rule} in the graph"
        # A path is one, and its answer the same, with a link beside it.
        if rule != "path" and not self._holds(rule, action, outcome, self.possible):
            return f"{describe(action)} and {describe(outcome)} are {rule} only if pairs that nobody judged are none"
        return None

    def _holds(self, rule: Rule, action: str, outcome: str, links: nx.DiGraph) -> bool:
        distance = self.place[outcome] - self.place[action]
        link = links.has_edge(action, outcome)
        path = nx.has_path(links, action, outcome)
        either = path or nx.has_path(links, outcome, action)
        return {
            "adjacent_unlinked": distance == 1 and not path and not links.has_edge(outcome, action),
            "adjacent_linked": distance == 1 and link,
            "path": distance > 0 and path and not link,
            "disconnected": distance > 1 and not either,
        }[rule]


def check_set(folder: Path) -> dict[str, int]:
    """Check every question of a set against its graph, and partners against each other."""
    issues = GroupedIssues()
    try:
        graphs = {graph.clip: GraphOfClip(graph) for _, graph in read_rows(folder / GRAPHS, ClipGraph, issues)}
        questions = dict(read_rows(folder / QUESTIONS, CounterfactualQuestion, issues))
    except OSError as error:
        raise InputError(f"{folder.name} cannot be checked: {error}.") from error
    issues.raise_if_any(f"{folder.name} cannot be checked")
    problems = disagreements(questions.items(), graphs)
    problems.raise_if_any(f"{folder.name} does not follow from its graphs")
    counts: dict[str, int] = {}
    for question in questions.values():
        counts[question.rule or "no rule"] = counts.get(question.rule or "no rule", 0) + 1
    return counts


def disagreements(
    questions: Iterable[tuple[str, CounterfactualQuestion]], graphs: Mapping[str, GraphOfClip]
) -> Problems:
    """Each question, given with its place, that does not follow from its clip's graph or has a wrong partner."""
    problems = Problems()
    placed = list(questions)
    by_id: dict[str, CounterfactualQuestion] = {}
    for where, question in placed:
        if question.id in by_id:
            problems.add(where, f"Expected each question once, but got {describe(question.id)} again.")
        by_id[question.id] = question
    for where, question in placed:
        name = f"{where}, question {describe(question.id)}"
        if question.clip not in graphs:
            problems.add(name, f"Expected a graph of {describe(question.clip)}, but got none.")
        elif fault := graphs[question.clip].disagreement(question):
            problems.add(name, f"Expected a question that follows from its graph, but {fault}.")
        if question.partner is not None:
            other = by_id.get(question.partner)
            opposite = other is not None and other.partner == question.id and other.verdict != question.verdict
            if other is None or not opposite or other.clip != question.clip:
                got = describe(question.partner)
                problems.add(name, f"Expected a partner about the clip with the opposite verdict, but got {got}.")
    return problems
