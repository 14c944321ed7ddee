"""Which of the clip's actions a few words speak of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.train.rewards.words import JOINTS, PHRASAL, alike, content_stem, derives, only_talks, stem

_ENOUGH = 0.45
"""Share of an action's weight that words must have, if no word of theirs is of that action alone."""
_ENOUGH_OF_ASKED, _NOTHING_ELSE = 0.3, 0.9
"""The same of the two actions that the question is about, and the share of the words' weight that must be of them."""
_TELLING = 0.5
"""Share of the words' weight that must be of the action, where one of them is of that action alone."""
_FEW = 0.2
"""Share of the words' weight that must be of the action in any case."""
_BY_SYNONYM = 0.8
_COMMON = 0.1
"""Weight of a word that more than half of the actions have, such as who acts."""
_FOR_THE_VERB = 1.2
"""How much more words weigh that have the action's verb: "the spike" is of the one who spikes."""
_FOR_THE_ACTOR = 1.15
"""The same of words that name no more than who acts."""
_FOR_A_PAIR = 1.2
"""The same of words that stand side by side in one action alone: "through ball"."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_NOBODY: frozenset[int] = frozenset()
_WHOLE = 2
"""Unknown words that an action weighs which somebody else does."""
_MOST_WORDS = 60
"""Words of a clause that are looked at: nobody names an action with more."""
_LABEL = re.compile(r"(?:action|event|step|node|activity)\s(?P<name>\w{1,12})")
ABSENT = -1
"""Stands for the action that never happened, which has no place in time."""


@dataclass(frozen=True)
class ActionMention:
    """What a few words speak of.

    Attributes:
        places: The actions, by place; `ABSENT` for the one that never happened.
        unknown: Words that no action of the clip and nothing of the question has.
        known: Words that are of some action, but tell of none.
    """

    places: frozenset[int] = frozenset()
    unknown: int = 0
    known: int = 0

    @property
    def says_something(self) -> bool:
        """Whether the words name an action, or something else than an action of the clip."""
        return bool(self.places) or self.unknown > 0


class ActionFinder:
    """Finds the actions of a sample in clauses.

    Args:
        sample: The sample.
        labels: What the response itself calls actions: a label and the words that stand for it.
    """

    def __init__(self, sample: RewardSample, labels: Iterable[tuple[str, str]] = ()) -> None:
        descriptions = dict(enumerate(sample.actions))
        if sample.absent is not None:
            descriptions[ABSENT] = sample.absent
        self._stems = {place: tuple(dict.fromkeys(content_stems(text))) for place, text in descriptions.items()}
        shared: dict[str, int] = {}
        for stems in self._stems.values():
            for one in stems:
                shared[one] = shared.get(one, 0) + 1
        number = max(1, len(self._stems))
        self._rare = math.log(1 + number)
        many = number > 2
        self._weight = {
            one: _COMMON if many and count > number / 2 else math.log(1 + number / count)
            for one, count in shared.items()
        }
        self._alone = {one for one, count in shared.items() if count == 1}
        self._asked = {place for place in (sample.intervened, sample.queried) if place is not None}
        self._verb = {place: verb_stem(text) for place, text in descriptions.items()}
        verbs = list(self._verb.values())
        self._own_verb = {place for place, verb in self._verb.items() if verb and verbs.count(verb) == 1}
        self._subject = {place: subject_stems(text) for place, text in descriptions.items()}
        self._total = {place: sum(self._weight[one] for one in stems) for place, stems in self._stems.items()}
        self.vocabulary = frozenset(shared) | frozenset(content_stems(sample.question))
        self._owners: dict[str, list[tuple[int, str, float]]] = {}
        for place, stems in self._stems.items():
            for one in stems:
                for other in alike(one):
                    if other != one and other in stems:
                        continue
                    share = 1.0 if other == one else _BY_SYNONYM
                    self._owners.setdefault(other, []).append((place, one, share))
        self._pairs: dict[tuple[str, str], frozenset[int]] = {}
        for place, text in descriptions.items():
            for pair in word_pairs([word.removesuffix("'s") for word in _WORD.findall(text.casefold())]):
                self._pairs[pair] = self._pairs.get(pair, frozenset()) | {place}
        self._relatives: dict[str, list[tuple[int, str, float]]] = {}
        self._by_label = {str(place + 1): place for place in range(len(sample.actions))}
        self._by_id = {
            name.casefold(): place
            for place, name in enumerate(sample.ids)
            if len(name) > 1 and any(letter.isdigit() for letter in name) and name.isalnum()
        }
        self._own_labels: dict[str, int] = {}
        for label, words in labels:
            mention = self.find(words.split())
            if len(mention.places) == 1:
                self._own_labels[label.split()[-1]] = next(iter(mention.places))

    def _owned(self, stemmed: str) -> list[tuple[int, str, float]]:
        """The actions that have a word, one that may stand for it, or else one that is derived alike."""
        owners = self._owners.get(stemmed)
        if owners is not None or stemmed in self.vocabulary:
            return owners or []
        if stemmed not in self._relatives:
            self._relatives[stemmed] = [
                (place, one, 1.0) for place, stems in self._stems.items() for one in stems if derives(one, stemmed)
            ]
        return self._relatives[stemmed]

    def has_word(self, stemmed: str) -> bool:
        """Whether an action has a word with this stem."""
        return stemmed in self._weight

    def with_word(self, stemmed: str) -> frozenset[int]:
        """The actions that have a word with this stem."""
        return frozenset(place for place, stems in self._stems.items() if stemmed in stems)

    def find(
        self, words: Sequence[str], without: frozenset[int] = frozenset(), numbered: bool = False
    ) -> ActionMention:
        """The actions that the words of a clause name, in time that is linear in their number.

        Args:
            words: The words, in lower case.
            without: Actions that are not looked for.
            numbered: Whether a number alone is an action's, as in "1 -> 2", and not that of a list.
        """
        words = words[:_MOST_WORDS]
        labelled = self._labelled(words, numbered) - without
        if labelled:
            return ActionMention(labelled)
        stems = tuple(one for one in dict.fromkeys(content_stems(" ".join(words))) if self._tells(one))
        if not stems:
            return ActionMention()
        places, left = set[int](), stems
        paired = frozenset(
            place for pair in word_pairs(words) if len(of := self._pairs.get(pair, _NOBODY)) == 1 for place in of
        )
        best = self._best(left, without, paired, first=True)
        while best is not None and len(places) < len(self._stems):
            place, used = best
            places.add(place)
            left = tuple(one for one in left if one not in used)
            best = self._best(left, without, paired, first=False) if left else None
        strangers = {place for place in places if self._acts_another(place, stems, left)}
        if strangers:
            return ActionMention(frozenset(places - strangers), unknown=len(strangers) * _WHOLE)
        unknown = sum(not self._owned(one) and one not in self.vocabulary for one in left)
        return ActionMention(frozenset(places), unknown, len(left) - unknown)

    def _acts_another(self, place: int, stems: tuple[str, ...], left: tuple[str, ...]) -> bool:
        """Whether words open with another actor than the action has: "the red ball hits", where the blue one does."""
        subject = self._subject[place]
        return stems[0] in left and any(
            stems[0] in other - subject
            and subject - other
            and all(alike(one).isdisjoint(stems) for one in subject - other)
            for other in self._subject.values()
        )

    def _tells(self, stemmed: str) -> bool:
        return stemmed in self._weight or not only_talks(stemmed)

    def has_verb(self, words: Sequence[str], places: Iterable[int]) -> bool:
        """Whether the words have the verb of one of the actions, or one that may stand for it."""
        stems = frozenset(content_stems(" ".join(words[:_MOST_WORDS])))
        return any(not (verb := self._verb.get(place)) or not alike(verb).isdisjoint(stems) for place in places)

    def done_by_another(self, verb: str, words: Sequence[str]) -> frozenset[int]:
        """The actions with a verb's stem whose actor the words before it do not name: "the note shatters".

        Words that only name another actor do nothing: "the red ball hits".
        """
        stems = frozenset(content_stems(" ".join(words[:_MOST_WORDS])))
        if any(subject >= stems for subject in self._subject.values()):
            return _NOBODY
        return frozenset(
            place
            for place, one, _ in self._owners.get(verb, ())
            if one == self._verb[place] and self._subject[place] and self._subject[place].isdisjoint(stems)
        )

    def shares_word(self, words: Sequence[str], places: Iterable[int]) -> bool:
        """Whether one of the words is of one of the actions."""
        stems = set(content_stems(" ".join(words[:_MOST_WORDS])))
        return any(not stems.isdisjoint(self._stems[place]) for place in places if place in self._stems)

    def _labelled(self, words: Sequence[str], numbered: bool) -> frozenset[int]:
        text = " ".join(words)
        places = set()
        for match in _LABEL.finditer(text):
            name = match["name"]
            place = self._own_labels.get(name, self._by_label.get(name, self._by_id.get(name)))
            if place is None and len(name) == 1 and name.isalpha():
                place = ord(name) - ord("a") if ord(name) - ord("a") < len(self._by_label) else None
            if place is not None:
                places.add(place)
        places |= {self._by_id[word] for word in words if word in self._by_id}
        if len(words) == 1 and words[0] in self._own_labels:
            places.add(self._own_labels[words[0]])
        elif len(words) == 1 and numbered and words[0] in self._by_label:
            places.add(self._by_label[words[0]])
        return frozenset(places)

    def _best(
        self, stems: tuple[str, ...], without: frozenset[int], paired: frozenset[int], first: bool
    ) -> tuple[int, frozenset[str]] | None:
        """The action that the stems speak of most, and which of them; None where none or two alike."""
        shares: dict[int, dict[str, float]] = {}
        used: dict[int, set[str]] = {}
        whole = 0.0
        for one in stems:
            weight = 0.0
            for place, of_action, share in self._owned(one):
                value = share * self._weight[of_action]
                weight = max(weight, value)
                matched = shares.setdefault(place, {})
                matched[of_action] = max(matched.get(of_action, 0.0), value)
                used.setdefault(place, set()).add(one)
            whole += weight or self._rare
        ranked: list[tuple[float, int]] = []
        for place, matched in shares.items():
            if place in without:
                continue
            part = sum(matched.values())
            recall, precision = part / self._total[place], min(1.0, part / whole)
            acts = self._verb[place] in matched
            # Another word for one of its words tells of an action only beside a word of its own.
            own = len(matched) > 1 or any(matched[one] == self._weight[one] for one in matched)
            telling = own and (any(one in self._alone for one in matched) or (acts and place in self._own_verb))
            telling = telling or place in paired
            asked = place in self._asked and precision >= _NOTHING_ELSE
            enough = recall >= (_ENOUGH_OF_ASKED if asked else _ENOUGH) and precision >= _FEW
            if not first:
                enough = recall >= _ENOUGH and telling
            if enough or (first and telling and precision >= _TELLING):
                score = 2 * recall * precision / (recall + precision)
                score *= (_FOR_THE_VERB if acts else 1.0) * (_FOR_A_PAIR if place in paired else 1.0)
                score *= _FOR_THE_ACTOR if self._subject[place].issuperset(matched) else 1.0
                ranked.append((score, place))
        ranked.sort(reverse=True)
        if not ranked or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < 1e-9):
            return None
        return ranked[0][1], frozenset(used[ranked[0][1]])


@lru_cache(maxsize=4_096)
def verb_stem(text: str) -> str:
    """The stem of the verb of "C opens the fridge", as far as its ending shows it; else empty."""
    words, verb = _verb_place(text)
    return stem(words[verb]) if verb else ""


@lru_cache(maxsize=4_096)
def subject_stems(text: str) -> frozenset[str]:
    """The stems of the words before the verb of "The red ball hits the cube", as far as its ending shows it."""
    words, verb = _verb_place(text)
    return frozenset(content_stems(" ".join(words[:verb])))


def _verb_place(text: str) -> tuple[list[str], int]:
    """The words of a description and where its verb stands; 0 where no ending shows it."""
    words = _WORD.findall(text.casefold())
    for at, (before, word) in enumerate(pairwise(words), start=1):
        if word.endswith("s") and not word.endswith(("ss", "'s")) and not before.endswith("'s"):
            return words, at
    return words, 0


def word_pairs(words: Sequence[str]) -> set[tuple[str, str]]:
    """Stems of words that stand side by side, of which one is a word of content and none an article or pronoun."""
    return {
        (stem(one), stem(other))
        for one, other in pairwise(words)
        if not {one, other} & JOINTS and (content_stem(one) or content_stem(other))
    }


@lru_cache(maxsize=4_096)
def content_stems(text: str) -> tuple[str, ...]:
    """Stems of the words of a text that are more than joints between others, in order."""
    words = [word.removesuffix("'s") for word in _WORD.findall(text.casefold())]
    joined: list[str] = []
    at = 0
    while at < len(words):
        pair = f"{words[at]} {words[at + 1]}" if at + 1 < len(words) else ""
        if pair in PHRASAL:
            joined.append(PHRASAL[pair])
            at += 2
        else:
            joined.append(words[at])
            at += 1
    return tuple(one for word in joined if (one := content_stem(word)) is not None)
