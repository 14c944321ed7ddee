"""From a causal graph to questions at three levels.

Source: CounterVQA (arXiv 2511.19923): ten candidates a level and clip. Level 1 asks about two adjacent actions without
a link, level 2 about a path of two links or more without a direct one, level 3 about an action that never happened and
the clip's main goal (figures 8 and 10) or an action of the clip (equation 3). By these rules the answers of a level are
all the same, so there are two rules more, which are ours: level 1 with a link, level 2 without a path.
`CounterfactualQuestion.rule` says by which one a question was made.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice

import networkx as nx

from lmms_eval_tasks.build.countervqa.absent import AbsentIdeas
from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.interactions import interaction_of
from lmms_eval_tasks.build.countervqa.pairs import ReachableGraph
from lmms_eval_tasks.build.countervqa.phrasing import Phrasing
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion, Level, Rule, Verdict

CANDIDATES = 10
"""Questions a level and clip, the paper's number."""

Pairs = list[tuple[str, str]]


def make_questions(
    take: Take,
    graph: ReachableGraph,
    absent: AbsentIdeas,
    number: int = CANDIDATES,
    own_rules: bool = True,
    seed: int = 0,
) -> list[CounterfactualQuestion]:
    """The questions about one clip, without partners."""
    questions: list[CounterfactualQuestion] = []
    actions = {action.id: action for action in take.actions}
    words = Phrasing(take.actions)
    interaction, _ = interaction_of(take)

    def add(rule: Rule, level: Level, verdict: Verdict, question: str, explanation: str, **about: str | None) -> None:
        level_number = sum(question.level == level for question in questions) + 1
        fields = {"clip": take.clip, "level": level, "interaction": interaction, "verdict": verdict, "rule": rule}
        texts = {"id": f"{take.uid}-L{level}-{level_number:02d}", "question": question, "explanation": explanation}
        questions.append(CounterfactualQuestion.model_validate({**fields, **texts, **about}))

    def add_pair(rule: Rule, level: Level, verdict: Verdict, pair: tuple[str, str], explanation: str) -> None:
        action, outcome = pair
        add(rule, level, verdict, words.question(action, outcome), explanation, action=action, outcome=outcome)

    def draw(rule: Rule, first: Pairs | None = None) -> Pairs:
        drawn = graph.draw(rule, number, random.Random(f"{seed} {take.uid} {rule}"))
        pairs = dict.fromkeys([*(first or []), *drawn])
        return list(islice((pair for pair in pairs if actions[pair[0]].text != actions[pair[1]].text), number))

    def share(papers: Pairs, ours: Pairs) -> tuple[Pairs, Pairs]:
        ours = ours[: max(number // 2, number - len(papers))] if own_rules else []
        return papers[: number - len(ours)], ours

    unlinked, linked = share(draw("adjacent_unlinked"), draw("adjacent_linked"))
    for pair in unlinked:
        add_pair("adjacent_unlinked", 1, "yes", pair, words.unlinked(*pair))
    for pair in linked:
        add_pair("adjacent_linked", 1, "no", pair, words.linked(*pair))
    paths = draw("path")
    paths, disconnected = share(paths, draw("disconnected", _same_outcomes(graph, paths, seed)))
    for pair in paths:
        add_pair("path", 2, "no", pair, words.chain(nx.shortest_path(graph.graph.links, *pair)))
    for pair in disconnected:
        add_pair("disconnected", 2, "yes", pair, words.disconnected(*pair))
    of_actions, of_goal = _third_level(absent, number, own_rules)
    for text, outcome in of_actions.items():
        asked, why = words.absent_question(text, outcome), words.absent(text, outcome)
        add("absent", 3, "yes", asked, why, absent_action=text, outcome=outcome)
    for text in of_goal:
        asked, why = words.goal_question(text, absent.goal), words.absent_goal(text, absent.goal)
        add("absent_goal", 3, "yes", asked, why, absent_action=text, goal=absent.goal)
    return questions


def _third_level(absent: AbsentIdeas, number: int, own_rules: bool) -> tuple[dict[str, str], list[str]]:
    """Absent actions to ask of with an outcome each, and those to ask of the main goal: none is in both."""
    most = number if not absent.goal else min(number, len(absent.actions)) // 2 if own_rules else 0
    with_outcome = ((one.text, one.outcome) for one in absent.actions if one.outcome is not None)
    of_actions = dict(islice(with_outcome, most))
    others = [one.text for one in absent.actions if one.text not in of_actions] if absent.goal else []
    return of_actions, others[: number - len(of_actions)]


def _same_outcomes(graph: ReachableGraph, paths: Pairs, seed: int) -> Pairs:
    """For each path, one disconnected pair with the same outcome: a partner that differs in the action alone."""
    partners: dict[tuple[str, str], None] = {}
    for action, outcome in paths:
        choices = [one for one in graph.actions_for("disconnected", outcome) if (one, outcome) not in partners]
        if choices:
            partners[random.Random(f"{seed} {action} {outcome}").choice(choices), outcome] = None
    return list(partners)


def with_partners(questions: Sequence[CounterfactualQuestion]) -> list[CounterfactualQuestion]:
    """Questions of one clip with their opposite-verdict partners, in the same order."""
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
