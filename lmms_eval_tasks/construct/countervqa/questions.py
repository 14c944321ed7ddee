"""Questions at three levels from a causal graph, their wording by template, and the absent actions of level 3.

Source: CounterVQA (arXiv 2511.19923): ten candidates a level and clip. Level 1 asks about two adjacent actions
without a link, level 2 about a path of two links or more without a direct one, level 3 about an action that never
happened and the clip's main goal (figures 8 and 10) or an action of the clip (equation 3). By these rules the
answers of a level are all the same, so there are two rules more, which are ours: level 1 with a link, level 2
without a path. `CounterfactualQuestion.rule` says by which one a question was made.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import networkx as nx
import numpy as np

from lmms_eval_tasks.construct.countervqa.graphs import CausalGraph, Pair
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction, interaction_of
from lmms_eval_tasks.construct.engine.encoders import EncodedTexts
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion, Level, Rule, Verdict

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
    """An action that never happened."""

    text: str
    outcome: str | None


@dataclass(frozen=True)
class AbsentIdeas:
    """Ideas from which questions of level 3 are made."""

    goal: str = ""
    actions: tuple[AbsentAction, ...] = ()


class AbsentActions:
    """Finds absent actions for clips."""

    def __init__(self, takes: Sequence[Take], encoded: EncodedTexts, seed: int) -> None:
        self._encoded = encoded
        self._seed = seed
        self._texts: dict[str, dict[str, None]] = {}
        for take in takes:
            if take.task:
                self._texts.setdefault(take.task, {}).update(dict.fromkeys(action.text for action in take.actions))

    def find(self, take: Take, number: int) -> AbsentIdeas:
        """Absent actions of a clip, the nearest first."""
        own = {action.text: action.id for action in reversed(take.actions)}
        known = set(map(same_words, own))
        pool = [text for text in self._texts.get(take.task, ()) if text not in own and same_words(text) not in known]
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


class ReachableGraph:
    """A causal graph with what each action leads to."""

    def __init__(self, graph: CausalGraph, unlinked: Collection[Pair] | None = None) -> None:
        self.graph = graph
        self._direct, self._leads_to = _reach(graph.links)
        self._may_be_direct, self._may_lead_to = self._direct, self._leads_to
        if unlinked is not None:
            perhaps = graph.links.copy()
            perhaps.add_edges_from(unjudged_pairs(graph.actions, graph.links.edges, unlinked))
            self._may_be_direct, self._may_lead_to = _reach(perhaps)
        self._rows: dict[Rule, list[int]] = {}

    def pairs(self, rule: Rule) -> list[int]:
        """For each action, in order of time, a bit for each action that makes a question by the rule with it."""
        if rule not in self._rows:
            self._rows[rule] = self._find_pairs(rule)
        return self._rows[rule]

    def _find_pairs(self, rule: Rule) -> list[int]:
        actions = range(len(self.graph.actions))
        following = [1 << (place + 1) if place + 1 < len(actions) else 0 for place in actions]
        if rule == "adjacent_linked":
            return [self._direct[place] & following[place] for place in actions]
        if rule == "path":
            later = [self._leads_to[place] >> (place + 1) << (place + 1) for place in actions]
            return [later[place] & ~self._direct[place] for place in actions]
        relation = self._may_be_direct if rule == "adjacent_unlinked" else self._may_lead_to
        from_later = [0] * len(actions)
        for place in actions:
            for earlier in _bits(relation[place] & ((1 << place) - 1)):
                from_later[earlier] |= 1 << place
        every = (1 << len(actions)) - 1
        wanted = following if rule == "adjacent_unlinked" else [every >> (one + 2) << (one + 2) for one in actions]
        return [wanted[place] & ~self._may_lead_to[place] & ~from_later[place] for place in actions]

    def actions_for(self, rule: Rule, outcome: str) -> list[str]:
        """The actions that make a question by the rule with an outcome, in order of time."""
        bit = 1 << self.graph.actions.index(outcome)
        return [self.graph.actions[place] for place, row in enumerate(self.pairs(rule)) if row & bit]

    def draw(self, rule: Rule, number: int, chance: random.Random) -> Iterator[tuple[str, str]]:
        """Pairs that make a question by the rule, in an order by chance; at least `TRIES` times `number` of many."""
        rows = self.pairs(rule)
        total = sum(row.bit_count() for row in rows)
        for place in chance.sample(range(total), min(total, TRIES * number)):
            for action, row in enumerate(rows):
                if place < row.bit_count():
                    yield self.graph.actions[action], self.graph.actions[_nth_bit(row, place)]
                    break
                place -= row.bit_count()


def unjudged_pairs(actions: Sequence[str], links: Iterable[Pair], unlinked: Iterable[Pair]) -> Iterator[Pair]:
    """Every two actions in order of time of which nobody said whether the first causes the second."""
    judged = {*links, *unlinked}
    return (pair for pair in combinations(actions, 2) if pair not in judged)


def _reach(links: nx.DiGraph) -> tuple[list[int], list[int]]:
    """For each node the bits of those it is linked to, and of those that a path of one link or more leads to."""
    number = {node: place for place, node in enumerate(links)}
    direct = [sum(1 << number[after] for after in links.successors(node)) for node in links]
    parts = nx.condensation(links)
    members: dict[int, list[int]] = {part: [number[one] for one in parts.nodes[part]["members"]] for part in parts}
    reached: dict[int, int] = {}
    leads_to = [0] * len(number)
    for part in reversed(list(nx.topological_sort(parts))):
        own = sum(1 << place for place in members[part]) if len(members[part]) > 1 else 0
        for place in members[part]:
            own |= direct[place]
        for after in parts.successors(part):
            own |= reached[after]
        reached[part] = own
        for place in members[part]:
            leads_to[place] = own
    return direct, leads_to


def _bits(row: int) -> Iterator[int]:
    while row:
        lowest = row & -row
        yield lowest.bit_length() - 1
        row ^= lowest


def _nth_bit(row: int, number: int) -> int:
    """Place of the bit that has `number` lower ones beside it."""
    for _ in range(number):
        row &= row - 1
    return (row & -row).bit_length() - 1


ACTORS = {"C": "the camera wearer", "O": "another person"}
LONGEST_CHAIN = 4


class Phrasing:
    """The words for the actions of one clip."""

    def __init__(self, actions: Sequence[TimedAction]) -> None:
        times = Counter(action.text for action in actions)
        self._names: Mapping[str, str] = {
            action.id: f"{quoted(action.text)} (at {clock(action.start)})"
            if times[action.text] > 1
            else quoted(action.text)
            for action in actions
        }

    def question(self, action: str, outcome: str) -> str:
        """Had an action of the clip not happened: would the outcome still have?"""
        return f"If {self._names[action]} had not happened, would {self._names[outcome]} still have happened?"

    def absent_question(self, text: str, outcome: str) -> str:
        """The same of an action that is not one of the clip."""
        return f"If {quoted(text)} had not happened, would {self._names[outcome]} still have happened?"

    def goal_question(self, text: str, goal: str) -> str:
        """Had an action that is not one of the clip not happened: would its main goal still have been reached?"""
        return f"If {quoted(text)} had not happened, would the main goal, {quoted(goal)}, still have been reached?"

    def unlinked(self, action: str, outcome: str) -> str:
        """Return the explanation of the answer yes if the outcome follows the action without a link."""
        return f"Yes. {self._names[outcome]} comes right after {self._names[action]}, and does not depend on it."

    def linked(self, action: str, outcome: str) -> str:
        """Return the explanation of the answer no if the action causes the outcome."""
        return f"No. {self._names[outcome]} depends on {self._names[action]}."

    def chain(self, actions: Sequence[str]) -> str:
        """Return the explanation of the answer no if a chain of causes leads from the first action to the last."""
        names = [self._names[action] for action in actions]
        if len(names) > LONGEST_CHAIN:
            names = [*names[: LONGEST_CHAIN - 2], f"{len(names) - LONGEST_CHAIN + 1} more actions", names[-1]]
        return f"No. {names[0]} leads to {', which leads to '.join(names[1:])}."

    def disconnected(self, action: str, outcome: str) -> str:
        """Return the explanation of the answer yes if no chain leads from the action to the outcome."""
        return f"Yes. No chain of causes leads from {self._names[action]} to {self._names[outcome]}."

    def absent(self, text: str, outcome: str) -> str:
        """Return the explanation of the answer yes if the action never happened."""
        return f"Yes. {quoted(text)} does not happen in the video, so {self._names[outcome]} does not depend on it."

    def absent_goal(self, text: str, goal: str) -> str:
        """The same of the main goal."""
        never = f"{quoted(text)} does not happen in the video"
        return f"Yes. {never}, so nothing is lost for the main goal, {quoted(goal)}."


def quoted(text: str) -> str:
    """A description in quotation marks, without its full stop; who acts is named in words."""
    text = text.rstrip(" .")
    name, space, rest = text.partition(" ")
    return f"“{ACTORS.get(name, name)}{space}{rest}”"


def clock(seconds: float) -> str:
    """A time as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


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
