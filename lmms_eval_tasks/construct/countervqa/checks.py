"""The commands `graph-quality` and `check-questions`: agreement of causal links, and verdicts derived once more.

Source: CounterVQA (arXiv 2511.19923), appendix D and Table 4. The F1 printed there, .9112, is not the harmonic mean
of its precision and recall, .9217; here F1 is always computed from the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.construct.countervqa.graphs import TakeLinks, read_links
from lmms_eval_tasks.construct.countervqa.questions import RULES, RuledGraph, same_words
from lmms_eval_tasks.countervqa.release import GRAPHS, QUESTIONS, ClipGraph, CounterfactualQuestion, read_release
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.output import make_console, text_table
from lmms_eval_tasks.utils.core.text import describe, summarize_names
from lmms_eval_tasks.utils.people.baseline import LinkCounts, count_links


def graph_quality(
    predicted: Annotated[Path, typer.Argument(help="Predicted links by take, or a graphs.jsonl.")],
    gold: Annotated[Path, typer.Argument(help="The reference, in either form; only a graphs.jsonl gives accuracy.")],
    takes: Annotated[int, typer.Option(help="Takes to list, the worst F1 first.", min=0)] = 20,
) -> None:
    """Compare predicted causal links with a reference: precision, recall, F1 and accuracy.

    Examples:
        lmms-eval-tasks countervqa graph-quality predicted.json gold.jsonl
        lmms-eval-tasks countervqa graph-quality set/graphs.jsonl gold.jsonl --takes 5
    """
    from lmms_eval_tasks.utils.scoring.metrics import mean_of_known

    quality = compare_graphs(predicted, gold)
    console = make_console()
    table = text_table(None, "take", *MEASURES, "links found", "predicted", "reference")

    def measures(links: LinkCounts) -> list[float | None]:
        return [getattr(links, name) for name in MEASURES]

    means = [mean_of_known(column) for column in zip(*map(measures, quality.takes.values()), strict=True)]
    worst = sorted(quality.takes.items(), key=lambda item: (item[1].f1 is None, item[1].f1 or 0.0, item[0]))
    # A mean of takes has no links of its own.
    lines = [("all links", measures(quality.total), quality.total), ("mean of the takes", means, None)]
    for name, values, links in [*lines, *((name, measures(links), links) for name, links in worst[:takes])]:
        shown = ["N/A" if value is None else f"{value:.4f}" for value in values]
        numbers = (links.hits, links.hits + links.extra, links.hits + links.missed) if links else ("", "", "")
        table.add_row(name, *shown, *map(str, numbers))
    console.print(table)
    if (more := len(worst) - takes) > 0:
        console.print(f"{more} more {'take' if more == 1 else 'takes'}; --takes shows more.")
    for what, names in (
        ("Takes without a prediction", quality.missing),
        ("Takes not in the reference", quality.unknown),
    ):
        if names:
            console.print(f"warning: {what}: {len(names)} ({summarize_names(names)}).", style="yellow")


def check_questions(
    folder: Annotated[Path, typer.Argument(help="A set: a folder with questions.jsonl and graphs.jsonl.")],
) -> None:
    """Derive the verdict of every question of a set from its causal graph once more.

    Examples:
        lmms-eval-tasks countervqa check-questions set
        lmms-eval-tasks countervqa check-questions built/release
    """

    counts = check_set(folder)
    table = text_table(None, "rule", "questions")
    for rule, number in sorted(counts.items()):
        table.add_row(rule, str(number))
    console = make_console()
    console.print(table)
    console.print(f"{sum(counts.values()):,} questions; none disagrees with its graph.")


MEASURES = ("precision", "recall", "f1", "accuracy")


@dataclass(frozen=True)
class GraphQuality:
    takes: Mapping[str, LinkCounts]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def total(self) -> LinkCounts:
        return sum(self.takes.values(), LinkCounts())


def compare_graphs(predicted_file: Path, reference_file: Path) -> GraphQuality:
    predicted, reference = read_links(predicted_file), read_links(reference_file)
    if not predicted.keys() & reference.keys():
        raise InputError(
            f"Expected takes of {reference_file.name} in {predicted_file.name}, but they have none in common."
        )
    problems = Problems()
    counts = {}
    for take, truth in reference.items():
        one = predicted.get(take, TakeLinks(()))
        actions = truth.actions if truth.actions is not None else one.actions
        ends = {end for pair in (*one.links, *truth.links) for end in pair}
        if actions is not None and (missing := sorted(ends.difference(actions))):
            names = ", ".join(map(describe, missing))
            message = f"Expected links between its {len(actions)} actions, but got some with {names}."
            problems.add(describe(take), message)
        else:
            counts[take] = count_links(one.links, truth.links, actions)
    problems.raise_if_any("The graphs cannot be compared")
    unknown = tuple(take for take in predicted if take not in reference)
    return GraphQuality(counts, tuple(take for take in reference if take not in predicted), unknown)


def ruled_graph(graph: ClipGraph) -> RuledGraph:
    links = [(link.cause, link.effect) for link in graph.links]
    unlinked = None if graph.unlinked is None else [(link.cause, link.effect) for link in graph.unlinked]
    return RuledGraph([action.id for action in graph.actions], links, unlinked)


def check_set(folder: Path) -> dict[str, int]:
    """Check every question of a set as it is read, and then against its graph; gives the questions of each rule."""
    try:
        questions, graphs, problems = read_release(folder / QUESTIONS, folder / GRAPHS)
    except OSError as error:
        raise InputError(f"{folder.name} cannot be checked: {error}.") from error
    ruled = {clip: ruled_graph(graph) for clip, graph in graphs.items()}
    for question in (one for one in questions if one.clip in graphs):
        if fault := disagreement(question, graphs[question.clip], ruled[question.clip]):
            where = f"question {describe(question.id)}"
            problems.add(where, f"Expected a question that follows from its graph, but {fault}.")
    problems.raise_if_any(f"{folder.name} does not follow from its graphs")
    return dict(Counter(question.rule or "no rule" for question in questions))


def disagreement(question: CounterfactualQuestion, graph: ClipGraph, ruled: RuledGraph) -> str:
    """Why a question does not follow from its graph; empty where it does, was not made by rule, or cannot be used."""
    rule, action, outcome = question.rule, question.action, question.outcome
    if rule is None:
        return ""
    _, verdict, *_ = RULES[rule]
    if question.verdict != verdict:
        return f"by the rule {rule} it has the verdict {verdict}"
    if rule in ("absent", "absent_goal"):
        if (outcome is None) != (rule == "absent_goal"):
            return "it asks of no main goal" if outcome else "it asks of no action"
        is_there = same_words(question.absent_action or "") in {same_words(one.text) for one in graph.actions}
        return f"the clip shows {describe(question.absent_action)}" if is_there else ""
    if not {action, outcome} <= ruled.place.keys():
        return ""
    if not ruled.holds(rule, action, outcome):
        return f"{describe(action)} and {describe(outcome)} are not {rule} in the graph"
    if not ruled.holds(rule, action, outcome, for_certain=True):
        return f"{describe(action)} and {describe(outcome)} are {rule} only if unknown pairs are no links"
    return ""
