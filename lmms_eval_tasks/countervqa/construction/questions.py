"""From a causal graph to questions at three levels.

Source: CounterVQA (arXiv 2511.19923): ten candidates a level and clip. Level 1 asks about two adjacent actions without
a link, level 2 about a path of two links or more without a direct one, level 3 about an action that never happened. By
these rules the answers of a level are all the same, so there are two rules more, which are ours: level 1 with a link,
level 2 without a path. `CounterfactualQuestion.rule` says by which one a question was made.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice

import networkx as nx

from lmms_eval_tasks.countervqa.construction.annotations import Take
from lmms_eval_tasks.countervqa.construction.pairs import ReachableGraph
from lmms_eval_tasks.countervqa.construction.phrasing import Phrasing, interaction
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion, Level, Rule, Verdict

CANDIDATES = 10
"""Questions a level and clip, the paper's number."""

Pairs = list[tuple[str, str]]


def make_questions(
    take: Take,
    graph: ReachableGraph,
    absent: Sequence[tuple[str, str]],
    number: int = CANDIDATES,
    own_rules: bool = True,
    seed: int = 0,
) -> list[CounterfactualQuestion]:
    """The questions about one clip, without partners.

    Args:
        take: The clip's actions.
        graph: Its causal graph.
        absent: Actions that it does not show, in words, each with the outcome to ask about.
        number: Questions a level at most; with our rules, half of level 1 and 2 are by them where there are so many.
        own_rules: Whether to make questions by our rules, too.
        seed: Of the draw.
    """
    questions: list[CounterfactualQuestion] = []
    actions = {action.id: action for action in take.actions}
    words = Phrasing(take.actions)

    def add(rule: Rule, level: Level, verdict: Verdict, explanation: str, outcome: str, action: str, text: str) -> None:
        level_number = sum(question.level == level for question in questions) + 1
        shown = [actions[name] for name in (action, outcome) if name]
        questions.append(
            CounterfactualQuestion(
                id=f"{take.uid}-L{level}-{level_number:02d}",
                clip=take.clip,
                level=level,
                interaction=interaction(shown, text),
                question=words.absent_question(text, outcome) if text else words.question(action, outcome),
                verdict=verdict,
                explanation=explanation,
                action=action or None,
                absent_action=text or None,
                outcome=outcome,
                rule=rule,
            )
        )

    def draw(rule: Rule, first: Pairs | None = None) -> Pairs:
        drawn = graph.draw(rule, number, random.Random(f"{seed} {take.uid} {rule}"))
        pairs = dict.fromkeys([*(first or []), *drawn])
        return list(islice((pair for pair in pairs if actions[pair[0]].text != actions[pair[1]].text), number))

    def share(papers: Pairs, ours: Pairs) -> tuple[Pairs, Pairs]:
        ours = ours[: max(number // 2, number - len(papers))] if own_rules else []
        return papers[: number - len(ours)], ours

    unlinked, linked = share(draw("adjacent_unlinked"), draw("adjacent_linked"))
    for action, outcome in unlinked:
        add("adjacent_unlinked", 1, "yes", words.unlinked(action, outcome), outcome, action, "")
    for action, outcome in linked:
        add("adjacent_linked", 1, "no", words.linked(action, outcome), outcome, action, "")
    paths = draw("path")
    paths, disconnected = share(paths, draw("disconnected", _same_outcomes(graph, paths, seed)))
    for action, outcome in paths:
        chain = nx.shortest_path(graph.graph.links, action, outcome)
        add("path", 2, "no", words.chain(chain), outcome, action, "")
    for action, outcome in disconnected:
        add("disconnected", 2, "yes", words.disconnected(action, outcome), outcome, action, "")
    for text, outcome in absent[:number]:
        add("absent", 3, "yes", words.absent(text, outcome), outcome, "", text)
    return questions


def _same_outcomes(graph: ReachableGraph, paths: Pairs, seed: int) -> Pairs:
    """For each path, one disconnected pair with the same outcome: a partner that differs in the action alone."""
    partners: dict[tuple[str, str], None] = {}
    for action, outcome in paths:
        choices = [one for one in graph.actions_for("disconnected", outcome) if (one, outcome) not in partners]
        if choices:
            partners[random.Random(f"{seed} {action} {outcome}").choice(choices), outcome] = None
    return list(partners)


def with_partners(questions: Sequence[CounterfactualQuestion]) -> list[CounterfactualQuestion]:
    """Questions of one clip with their opposite-verdict partners, in the same order.

    Partners are of one level. Those with the same outcome come first, then those that have an action in common, then
    any two. A question is the partner of at most one other, and that one's partner is the question.
    """
    partner: dict[str, str] = {}
    for level in (1, 2, 3):
        here = [question for question in questions if question.level == level]
        for alike in (_same_outcome, _share_action, lambda first, second: True):
            for yes in here:
                if yes.verdict != "yes" or yes.id in partner:
                    continue
                for no in here:
                    if no.verdict == "no" and no.id not in partner and alike(yes, no):
                        partner[yes.id], partner[no.id] = no.id, yes.id
                        break
    return [question.model_copy(update={"partner": partner.get(question.id)}) for question in questions]


def _same_outcome(first: CounterfactualQuestion, second: CounterfactualQuestion) -> bool:
    return first.outcome == second.outcome


def _share_action(first: CounterfactualQuestion, second: CounterfactualQuestion) -> bool:
    return bool({first.action, first.outcome} & {second.action, second.outcome})
