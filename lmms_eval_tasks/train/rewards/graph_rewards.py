"""Causal and visual rewards: agreement of an answer's claimed links and actions with the graph of the clip.

Source: CounterVQA (arXiv 2511.19923), section 3, rewards the agreement of reasoning with the causal graph, and
section 3.2 reasoning that names the visible and invents nothing; neither says how it is measured. Both measures are
ours; docs/training.md explains them and their reasons.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

import networkx as nx

from lmms_eval_tasks.train.rewards.answer_form import (
    WRONG_END,
    FormedAnswer,
    ends_rightly,
    expected_verdict,
    read_answer,
)
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample
from lmms_eval_tasks.utils.core.errors import needs_package

ABSENT = -1
"""The place of the action that never happened."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CAMERA_WEARER = re.compile(r"\b(?:the )?camera[ -]wearer\b", re.IGNORECASE)
_WEARER = frozenset({"c"})
"""The camera wearer, as Ego4D's narrations say it."""
_EMPTY = frozenset(re.findall(r"\w+", """
    a an the this that these those he she it they him her them his its their himself herself itself themselves
    am is are was were be been being has have had having do does did
"""))  # fmt: skip
"""Articles, pronouns and auxiliaries: they tell no action from another."""
_PREPOSITIONS = frozenset(re.findall(r"\w+", """
    about above across after against along around at away before behind below beneath beside between beyond by down
    for from in inside near next of off on onto out outside over past through to together toward towards under up upon
    using with within without
"""))  # fmt: skip
_LIKE = {"into": "in", "onto": "on", "towards": "toward", "upon": "on"}
_LONGEST_WORD = 40

Word = frozenset[str]
"""A word as its lemmas: those that it has as a verb, as a noun …"""
Needed = tuple[frozenset[int], frozenset[int]]
"""Places of words that all have to be there, and of those of which one has to be, where there are any."""


class ActionFinder:
    """Finds actions of a clip, the one that never happened among them."""

    def __init__(self, sample: RewardSample) -> None:
        places: dict[tuple[Word, ...], list[int]] = {}
        for place, text in enumerate(sample.actions):
            places.setdefault(_words(text), []).append(place)
        if sample.absent is not None:
            places.setdefault(_words(sample.absent), [ABSENT])
        self._actions = [(words, _needed(words), frozenset(at)) for words, at in places.items() if words]
        self._longest = max((len(words) for words, _, _ in self._actions), default=0)

    def find(self, phrase: str) -> frozenset[int]:
        """The places of the action that a phrase names; several where actions have the same words."""
        words = _words(phrase, self._longest)
        if not words:
            return frozenset()
        found = [(action, places) for action, needed, places in self._actions if _names(words, action, needed)]
        whole = [(action, places) for action, places in found if len(action) == len(words)]
        chosen = whole or found
        return chosen[0][1] if len(chosen) == 1 else frozenset()


action_finder = lru_cache(maxsize=64)(ActionFinder)
"""The finder of the actions in a question's clip, shared by the answers of a batch."""


def _words(text: str, longest: int | None = None) -> tuple[Word, ...]:
    """The words of a text that tell actions apart; none where there are more than the longest action has."""
    words: list[Word] = []
    for match in _WORD.finditer(_CAMERA_WEARER.sub("C", text)):
        word = match[0].casefold().replace("’", "'").removesuffix("'s")
        if word in _EMPTY:
            continue
        words.append(_lemmas(_LIKE.get(word, word)))
        if longest is not None and len(words) > longest:
            return ()
    return tuple(words)


def _all_lemmas(word: str, upos: str | None = None) -> dict[str, tuple[str, ...]]:
    """The lemmas of a word by part of speech."""
    with needs_package("lmms-eval-tasks[training]", "Rewards over causal graphs"):
        from lemminflect import getAllLemmas

    found: dict[str, tuple[str, ...]] = getAllLemmas(word, upos=upos)
    return found


@lru_cache(maxsize=1 << 15)
def _lemmas(word: str) -> Word:
    if len(word) > _LONGEST_WORD or word in _PREPOSITIONS:
        return frozenset({word})
    return frozenset({word}.union(*_all_lemmas(word).values()))


def _names(words: Sequence[Word], action: Sequence[Word], needed: Needed) -> bool:
    """Whether the words stand in the action in their order, with what is needed among them."""
    place, met = 0, set()
    for word in words:
        while place < len(action) and not word & action[place]:
            place += 1
        if place == len(action):
            return False
        met.add(place)
        place += 1
    return needed[0] <= met and (not needed[1] or not needed[1].isdisjoint(met))


def _needed(action: Sequence[Word]) -> Needed:
    """The places of an action's verb and object, and others of which one has to be there."""
    verb = next((at for at, word in enumerate(action) if _is_third_person(word)), None)
    if verb is None:
        return frozenset(_phrase(action, 0)), frozenset()
    adverbs = {at for at, word in enumerate(action) if any(set(_all_lemmas(one)) == {"ADV"} for one in word)}
    objects = [at for at in _phrase(action, verb + 1) if at not in adverbs]
    if objects:
        return frozenset({verb, objects[-1]}), frozenset()
    others = (at for at, word in enumerate(action) if at != verb and word.isdisjoint(_PREPOSITIONS | _WEARER))
    return frozenset({verb}), frozenset(others)


def _phrase(action: Sequence[Word], start: int) -> range:
    """Places from one on up to the next preposition."""
    end = next((at for at in range(start, len(action)) if action[at] & _PREPOSITIONS), len(action))
    return range(start, end)


def _is_third_person(word: Word) -> bool:
    verbs = {one: set(_all_lemmas(one, upos="VERB").get("VERB", ())) for one in word if one.endswith("s")}
    return any(lemmas & word - {one} for one, lemmas in verbs.items())


Pair = tuple[int, int]

OWN_PAIR = 0.3
"""What it covers to state only that the question's own two actions are linked, and the most that this earns."""
LEFT = (1.0, 0.5, 0.2)
"""The share that is left of an answer's reward with no wrong claim, with one, and with two or more."""


@dataclass(frozen=True)
class ClaimedLinks:
    stated: frozenset[Pair]
    wrong: int


@dataclass(frozen=True)
class GraphAgreement:
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


def causal_reward(response: str, sample: RewardSample) -> float | None:
    """The causal reward of an answer, in [0, 1]; takes time that is linear in its length.

    Where the graph has no chain to judge, beyond the question's own two actions, the verdict is what the graph says.
    """
    has_chain = has_more_to_say(sample)
    if not sample.actions or not (has_chain or expected_verdict(sample)):
        return None
    answer = read_answer(response)
    if answer is None:
        return 0.0
    most = ceiling(answer, sample)
    if not has_chain:
        return most if ends_rightly(answer, sample) else 0.0
    agreed = agreement(answer, sample)
    return min(agreed.f_score * agreed.share_left, most)


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


def visual_reward(response: str, sample: RewardSample) -> float | None:
    """The visual reward of an answer, in [0, 1]; takes time that is linear in its length."""
    if not sample.actions:
        return None
    answer = read_answer(response)
    if answer is None:
        return 0.0
    named = [action_finder(sample).find(phrase) for phrase in answer.happened]
    invented = sum(places in (frozenset(), {ABSENT}) for places in named)
    seen = list(dict.fromkeys(places for places in named if places not in (frozenset(), {ABSENT})))
    if not seen or invented > len(seen):
        return 0.0
    covered = len(sample.relevant & frozenset().union(*seen)) / len(sample.relevant)
    return covered * _in_order(seen) / (len(seen) + invented)


def _in_order(seen: Iterable[frozenset[int]]) -> int:
    """The most of the actions that stand in the order of the clip, where each may be any of its places."""
    ends: list[int] = []
    for places in seen:
        for place in sorted(places, reverse=True):
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends)
