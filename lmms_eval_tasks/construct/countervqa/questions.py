"""Questions at three levels from a causal graph, their wording by template, and the absent actions of level 3.

Source: CounterVQA (arXiv 2511.19923): ten candidates a level and clip. Level 1 asks about two adjacent actions
without a link, level 2 about a path of two links or more without a direct one, level 3 about an action that never
happened and the clip's main goal (figures 8 and 10) or an action of the clip (equation 3). By these rules the
answers of a level are all the same, so there are two rules more, which are ours: level 1 with a link, level 2
without a path. At level 3 the answer is yes by what is asked: the absence of what never happened changes nothing.
`CounterfactualQuestion.rule` says by which one a question was made.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.construct.countervqa.graphs import Pair, causal_graph
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction, interaction_of
from lmms_eval_tasks.construct.engine.encoders import EncodedTexts
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion, Level, Rule, Verdict

if TYPE_CHECKING:
    import networkx as nx

SAME = 0.85
"""From this cosine similarity on, two descriptions may be of one action. Ours."""
NEAR = 0.3
"""From this cosine similarity on, an action is near enough to seem to depend on another. Ours."""
POOL = 200
"""Descriptions that are looked at for one clip, drawn from those of its task."""


def same_words(text: str) -> str:
    """Return a key shared by descriptions that differ only in case, punctuation or order of words."""
    return " ".join(sorted(re.findall(r"\w+", text.casefold())))


@dataclass(frozen=True)
class AbsentAction:
    text: str
    outcome: str | None


@dataclass(frozen=True)
class AbsentIdeas:
    goal: str = ""
    actions: tuple[AbsentAction, ...] = ()


class AbsentActions:
    def __init__(self, takes: Sequence[Take], encoded: EncodedTexts, seed: int) -> None:
        self._encoded = encoded
        self._seed = seed
        self._texts: dict[str, dict[str, None]] = {}
        for take in takes:
            if take.task:
                self._texts.setdefault(take.task, {}).update(dict.fromkeys(action.text for action in take.actions))

    def find(self, take: Take, number: int) -> AbsentIdeas:
        own = {action.text: action.id for action in reversed(take.actions)}
        known = set(map(same_words, own))
        pool = [text for text in self._texts.get(take.task, ()) if same_words(text) not in known]
        goal = take.goal or take.task
        if not pool or not own:
            return AbsentIdeas(goal)
        if len(pool) > POOL:
            pool = random.Random(f"{self._seed} {take.uid} absent").sample(pool, POOL)
        texts = list(own)
        # Rounded, so that the last bits of a sum of products do not decide.
        similarities = self._encoded.similarities(pool, texts).round(6)
        closeness = similarities.max(axis=1)
        absent: dict[str, AbsentAction] = {}
        for place in sorted(range(len(pool)), key=lambda place: (-float(closeness[place]), pool[place])):
            if closeness[place] < SAME:
                nearest = np.flatnonzero(similarities[place] == closeness[place])
                is_clear = closeness[place] >= NEAR and len(nearest) == 1
                outcome = own[texts[nearest[0]]] if is_clear else None
                absent.setdefault(same_words(pool[place]), AbsentAction(pool[place], outcome))
        return AbsentIdeas(goal, tuple(absent.values())[:number])


TRIES = 8
"""Pairs drawn for each one that is wanted: some have two actions of the same words."""

Matrix = NDArray[np.bool_]


class RuledGraph:
    """A clip's causal graph, and which pairs of its actions make a question by a rule.

    Of pairs that are neither links nor unlinked nothing is known: no question rests on them. Without `unlinked` all are
    known.
    """

    def __init__(self, actions: Sequence[str], links: Iterable[Pair], unlinked: Collection[Pair] | None = None) -> None:
        self.place: dict[str | None, int] = {action: number for number, action in enumerate(actions)}
        self.links, self._actions = causal_graph(actions, links), list(actions)
        self._known = perhaps = _pairs_by_rule(self.links)
        if unlinked is not None:
            possible, none = self.links.copy(), set(unlinked)
            possible.add_edges_from(pair for pair in combinations(actions, 2) if pair not in none)
            perhaps = _pairs_by_rule(possible)
        # A link is one whatever else is, and so is a path, whose answer is the same with a link beside it.
        self._certain = {**perhaps}
        self._certain["adjacent_linked"], self._certain["path"] = self._known["adjacent_linked"], self._known["path"]

    def holds(self, rule: Rule, action: str | None, outcome: str | None, for_certain: bool = False) -> bool:
        """Whether a pair makes a question; for certain, if it does so whatever holds of unknown pairs."""
        pairs = self._certain if for_certain else self._known
        return bool(pairs[rule][self.place[action], self.place[outcome]])

    def actions_for(self, rule: Rule, outcome: str) -> list[str]:
        return [self._actions[place] for place in np.flatnonzero(self._certain[rule][:, self.place[outcome]])]

    def draw(self, rule: Rule, number: int, chance: random.Random) -> Iterator[Pair]:
        """Pairs that make a question by the rule, in an order by chance; at least `TRIES` times `number` of many."""
        pairs = np.argwhere(self._certain[rule])
        for place in chance.sample(range(len(pairs)), min(len(pairs), TRIES * number)):
            action, outcome = pairs[place]
            yield self._actions[action], self._actions[outcome]


def _pairs_by_rule(links: nx.DiGraph) -> dict[Rule, Matrix]:
    """Rule to whether each two actions, in the order of time, fulfil it."""
    import networkx as nx

    direct: Matrix = nx.to_numpy_array(links, dtype=bool, weight=None)
    leads_to, number = np.zeros_like(direct), {node: place for place, node in enumerate(links)}
    parts = nx.condensation(links)
    for part in reversed(list(nx.topological_sort(parts))):
        members = [number[node] for node in parts.nodes[part]["members"]]
        linked = direct[members].any(axis=0)
        leads_to[members] = linked | leads_to[linked].any(axis=0)
        if len(members) > 1:
            leads_to[np.ix_(members, members)] = True
    following = np.eye(len(links), k=1, dtype=bool)
    later = np.triu(np.ones_like(following), k=1)
    return {
        "adjacent_unlinked": following & ~leads_to & ~direct.T,
        "adjacent_linked": following & direct,
        "path": later & leads_to & ~direct,
        "disconnected": later & ~following & ~leads_to & ~leads_to.T,
    }


ACTORS = {"C": "the camera wearer", "O": "another person"}
LONGEST_CHAIN = 4

OF_ACTION = "If {action} had not happened, would {outcome} still have happened?"
OF_ABSENT = "If {absent_action} had not happened, would {outcome} still have happened?"
OF_GOAL = "If {absent_action} had not happened, would the main goal, {goal}, still have been reached?"
NEVER = "Yes. {absent_action} does not happen in the video, so "
RULES: Mapping[Rule, tuple[Level, Verdict, str, str]] = {
    "adjacent_unlinked": (1, "yes", OF_ACTION, "Yes. {outcome} comes right after {action}, and does not depend on it."),
    "adjacent_linked": (1, "no", OF_ACTION, "No. {outcome} depends on {action}."),
    "path": (2, "no", OF_ACTION, "No. {chain}."),
    "disconnected": (2, "yes", OF_ACTION, "Yes. No chain of causes leads from {action} to {outcome}."),
    "absent": (3, "yes", OF_ABSENT, NEVER + "{outcome} does not depend on it."),
    "absent_goal": (3, "yes", OF_GOAL, NEVER + "nothing is lost for the main goal, {goal}."),
}
"""A rule's level, its verdict, the question, and the explanation of the verdict."""


class Phrasing:
    def __init__(self, actions: Sequence[TimedAction]) -> None:
        times = Counter(action.text for action in actions)
        self._names: dict[str, str] = {}
        for action in actions:
            minutes, seconds = divmod(int(action.start), 60)
            time = f" (at {minutes}:{seconds:02d})" if times[action.text] > 1 else ""
            self._names[action.id] = quoted(action.text) + time

    def write(self, rule: Rule, chain: Sequence[str] = (), **about: str) -> tuple[str, str]:
        """Return a question by a rule and its explanation, given the actions of a chain of causes, and what they are
        about: ids of the clip's actions, and the words of an action that it does not have and of its main goal."""
        names = [self._names[action] for action in chain]
        if len(names) > LONGEST_CHAIN:
            names = [*names[: LONGEST_CHAIN - 2], f"{len(names) - LONGEST_CHAIN + 1} more actions", names[-1]]
        of_clip = ("action", "outcome")
        words = {name: self._names[value] if name in of_clip else quoted(value) for name, value in about.items()}
        words["chain"] = f"{names[0]} leads to {', which leads to '.join(names[1:])}" if names else ""
        _, _, question, explanation = RULES[rule]
        return question.format(**words), explanation.format(**words)


def quoted(text: str) -> str:
    """A description in quotation marks, without its full stop; who acts is named in words."""
    text = text.rstrip(" .")
    name, space, rest = text.partition(" ")
    return f"“{ACTORS.get(name, name)}{space}{rest}”"


CANDIDATES = 10
"""Questions a level and clip, the paper's number."""

Pairs = list[Pair]


def make_questions(
    take: Take,
    graph: RuledGraph,
    absent: AbsentIdeas,
    number: int = CANDIDATES,
    own_rules: bool = True,
    seed: int = 0,
) -> list[CounterfactualQuestion]:
    texts = {action.id: action.text for action in take.actions}
    words = Phrasing(take.actions)
    interaction, _ = interaction_of(take)
    numbers = Counter[Level]()

    def ask(rule: Rule, chain: Sequence[str] = (), **about: str) -> CounterfactualQuestion:
        level, verdict, *_ = RULES[rule]
        numbers[level] += 1
        question, explanation = words.write(rule, chain, **about)
        return CounterfactualQuestion.model_validate(
            {
                "id": f"{take.uid}-L{level}-{numbers[level]:02d}",
                "clip": take.clip,
                "level": level,
                "interaction": interaction,
                "question": question,
                "verdict": verdict,
                "explanation": explanation,
                "rule": rule,
                **about,
            }
        )

    def draw(rule: Rule, first: Pairs | None = None) -> Pairs:
        drawn = graph.draw(rule, number, random.Random(f"{seed} {take.uid} {rule}"))
        pairs = dict.fromkeys([*(first or []), *drawn])
        return list(islice((pair for pair in pairs if texts[pair[0]] != texts[pair[1]]), number))

    def share(papers: Pairs, ours: Pairs) -> tuple[Pairs, Pairs]:
        ours = ours[: max(number // 2, number - len(papers))] if own_rules else []
        return papers[: number - len(ours)], ours

    from networkx import shortest_path

    paths = draw("path")
    unlinked, linked = share(draw("adjacent_unlinked"), draw("adjacent_linked"))
    paths, disconnected = share(paths, draw("disconnected", _same_outcomes(graph, paths, seed)))
    by_rule: dict[Rule, Pairs] = {
        "adjacent_unlinked": unlinked,
        "adjacent_linked": linked,
        "path": paths,
        "disconnected": disconnected,
    }
    questions = []
    for rule, pairs in by_rule.items():
        for action, outcome in pairs:
            chain = shortest_path(graph.links, action, outcome) if rule == "path" else ()
            questions.append(ask(rule, chain, action=action, outcome=outcome))
    of_actions, of_goal = _third_level(absent, number, own_rules)
    questions += [ask("absent", absent_action=text, outcome=outcome) for text, outcome in of_actions.items()]
    questions += [ask("absent_goal", absent_action=text, goal=absent.goal) for text in of_goal]
    return questions


def _third_level(absent: AbsentIdeas, number: int, own_rules: bool) -> tuple[dict[str, str], list[str]]:
    """Absent actions to ask of with an outcome each, and those to ask of the main goal: none is in both."""
    most = number if not absent.goal else min(number, len(absent.actions)) // 2 if own_rules else 0
    with_outcome = ((one.text, one.outcome) for one in absent.actions if one.outcome is not None)
    of_actions = dict(islice(with_outcome, most))
    others = [one.text for one in absent.actions if one.text not in of_actions] if absent.goal else []
    return of_actions, others[: number - len(of_actions)]


def _same_outcomes(graph: RuledGraph, paths: Pairs, seed: int) -> Pairs:
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
        alikes: tuple[Callable[[CounterfactualQuestion, CounterfactualQuestion], bool], ...] = (
            lambda one, other: one.outcome == other.outcome,
            lambda one, other: bool({one.action, one.outcome} & {other.action, other.outcome}),
            lambda one, other: True,
        )
        for alike in alikes:
            for yes in here:
                if yes.verdict != "yes" or yes.id in partner:
                    continue
                for no in here:
                    if no.verdict == "no" and no.id not in partner and alike(yes, no):
                        partner[yes.id], partner[no.id] = no.id, yes.id
                        break
    return [question.model_copy(update={"partner": partner.get(question.id)}) for question in questions]
