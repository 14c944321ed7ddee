"""Finds the action of a clip that a phrase names: by the lemmas of its words, with its verb and its object."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lemminflect import getAllLemmas

from lmms_eval_tasks.train.rewards.sample import RewardSample

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


@lru_cache(maxsize=64)
def action_finder(sample: RewardSample) -> ActionFinder:
    """Return the finder of the actions in a question's clip, shared by the answers of a batch."""
    return ActionFinder(sample)


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


@lru_cache(maxsize=1 << 15)
def _lemmas(word: str) -> Word:
    if len(word) > _LONGEST_WORD or word in _PREPOSITIONS:
        return frozenset({word})
    return frozenset({word}.union(*getAllLemmas(word).values()))


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
    objects = [at for at in _phrase(action, verb + 1) if not _is_adverb(action[at])]
    if objects:
        return frozenset({verb, objects[-1]}), frozenset()
    others = (at for at, word in enumerate(action) if at != verb and word.isdisjoint(_PREPOSITIONS | _WEARER))
    return frozenset({verb}), frozenset(others)


def _phrase(action: Sequence[Word], start: int) -> range:
    """Places from one on up to the next preposition."""
    end = next((at for at in range(start, len(action)) if action[at] & _PREPOSITIONS), len(action))
    return range(start, end)


def _is_third_person(word: Word) -> bool:
    return any(one.endswith("s") and any(_is_verb_of(one, lemma) for lemma in word - {one}) for one in word)


def _is_verb_of(form: str, lemma: str) -> bool:
    return lemma in getAllLemmas(form, upos="VERB").get("VERB", ())


def _is_adverb(word: Word) -> bool:
    return any(set(getAllLemmas(one)) == {"ADV"} for one in word)
