"""The causal reward: how well the links that an answer claims agree with the clip's graph.

Source: CounterVQA (arXiv 2511.19923), section 3, rewards the agreement of reasoning with the causal graph, and does not
say how it is measured. This measure is ours; docs/training.md says what it does and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

import networkx as nx

from lmms_eval_tasks.train.rewards.actions import ABSENT, action_finder
from lmms_eval_tasks.train.rewards.conclusion import WRONG_END, ends_rightly
from lmms_eval_tasks.train.rewards.form import FormedAnswer, read_answer
from lmms_eval_tasks.train.rewards.sample import RewardSample

Pair = tuple[int, int]

OWN_PAIR = 0.3
"""What it covers to state only that the question's own two actions are linked, and the most that this earns."""
LEFT = (1.0, 0.5, 0.2)
"""The share that is left of an answer's reward with no wrong claim, with one, and with two or more."""


@dataclass(frozen=True)
class ClaimedLinks:
    """Links claimed by an answer, by the positions of the actions."""

    stated: frozenset[Pair]
    wrong: int


@dataclass(frozen=True)
class GraphAgreement:
    """Agreement between an answer's claims and the links that a question needs."""

    covered: float
    needed: int
    beyond_its_pair: bool
    wrong: int

    @property
    def f_score(self) -> float:
        """Harmonic mean of coverage and of the share of needed claims among these and the wrong ones."""
        precision = self.needed / (self.needed + self.wrong) if self.needed else 0.0
        return 2 * precision * self.covered / (precision + self.covered) if self.needed else 0.0

    @property
    def share_left(self) -> float:
        """Share of a reward that remains after wrong claims."""
        return LEFT[min(self.wrong, len(LEFT) - 1)]


def causal_reward(response: object, sample: RewardSample) -> float | None:
    """The causal reward of an answer, in [0, 1]; raises nothing, and takes time that is linear in its length."""
    if not has_more_to_say(sample):
        return None
    answer = read_answer(response)
    if answer is None:
        return 0.0
    agreed = agreement(answer, sample)
    return min(agreed.f_score * agreed.share_left, ceiling(answer, sample))


def ceiling(answer: FormedAnswer, sample: RewardSample) -> float:
    """The most that an answer earns: with a wrong end, with wrong claims, or with no link but that of its own pair."""
    if not ends_rightly(answer, sample):
        return WRONG_END
    agreed = agreement(answer, sample)
    return min(agreed.share_left, OWN_PAIR if has_more_to_say(sample) and not agreed.beyond_its_pair else 1.0)


@lru_cache(maxsize=1024)
def has_more_to_say(sample: RewardSample) -> bool:
    """Whether the graph has a link that the question needs, beyond one between its own two actions."""
    if sample.queried is None:
        return False
    if sample.asks_for_a_chain:
        return bool(_path_lengths(frozenset(), sample))
    return bool(_causes(sample))


def claimed_links(answer: FormedAnswer, sample: RewardSample) -> ClaimedLinks:
    """The claims of an answer, compared with the graph; what is both stated and denied is wrong once."""
    find = cache(action_finder(sample).find)
    wrong = answer.faults + sum(find(phrase) in (frozenset(), {ABSENT}) for phrase in answer.happened)
    claims: dict[frozenset[Pair], set[bool]] = {}
    for link in answer.links:
        ends = product(find(link.cause), find(link.effect))
        if pairs := frozenset((cause, effect) for cause, effect in ends if cause != effect):
            claims.setdefault(pairs, set()).add(link.holds)
        else:
            wrong += 1
    stated: set[Pair] = set()
    for pairs, says in claims.items():
        leading = {(one, other) for one, other in pairs if one != ABSENT and other in sample.reachable[one]}
        true = leading if says == {True} else pairs - leading if says == {False} else set()
        wrong += not true
        stated |= true & leading
    return ClaimedLinks(frozenset(stated), wrong)


@lru_cache(maxsize=32)
def agreement(answer: FormedAnswer, sample: RewardSample) -> GraphAgreement:
    """Compare the links claimed by an answer with those a question needs; other true claims earn and cost nothing."""
    claims = claimed_links(answer, sample)
    right = claims.stated & sample.links
    if not sample.asks_for_a_chain:
        causes = _causes(sample)
        said = len(right & causes)
        return GraphAgreement(said / max(1, len(causes)), said, said > 0, claims.wrong)
    lengths = _path_lengths(right, sample)
    own = (sample.intervened, sample.queried) in claims.stated
    covered = max((said / length for length, said in lengths.items()), default=0.0)
    beyond = len(right & _links_between(sample))
    return GraphAgreement(max(covered, OWN_PAIR * own), beyond + own, beyond > 0, claims.wrong)


def _causes(sample: RewardSample) -> frozenset[Pair]:
    """The links that lead to the outcome."""
    return frozenset(link for link in sample.links if link[1] == sample.queried)


@lru_cache(maxsize=1024)
def _links_between(sample: RewardSample) -> frozenset[Pair]:
    """The links on the ways from the action that is left out to the outcome, but not one between the two themselves."""
    start, end = sample.intervened, sample.queried
    if start is None or end is None:
        return frozenset()
    between = ({start} | sample.reachable[start]) & ({end} | nx.ancestors(sample.graph, end))
    return frozenset(link for link in sample.links if set(link) <= between and link != (start, end))


def _path_lengths(right: frozenset[Pair], sample: RewardSample) -> dict[int, int]:
    """Number of links of each length of path between the two actions to how many of them are in `right` at most."""
    graph = nx.DiGraph(sorted(_links_between(sample)))
    acyclic = nx.is_directed_acyclic_graph(graph)
    order = list(nx.lexicographical_topological_sort(graph)) if acyclic else sorted(graph)
    said: dict[int | None, dict[int, int]] = {place: {} for place in order}
    if sample.intervened in said:
        said[sample.intervened][0] = 0
    for at, cause in enumerate(order):
        for effect in set(order[at:]) & set(graph[cause]):
            for length, number in said[cause].items():
                number += (cause, effect) in right
                said[effect][length + 1] = max(said[effect].get(length + 1, 0), number)
    return said.get(sample.queried, {})
