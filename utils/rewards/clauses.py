"""Clauses of a sentence, and how each is joined to the one before: as its effect, its cause, its condition."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from lmms_eval_tasks.utils.rewards.mentions import ActionFinder, ActionMention
from lmms_eval_tasks.utils.rewards.words import (
    AFFECT_VERBS,
    DENIAL,
    FORWARD_VERBS,
    HEDGE,
    MODAL,
    MUST,
    SHARED_VERBS,
    STILL,
    content_stem,
    phrases,
    stem,
)


class Joint(Enum):
    """How a clause is joined to what comes before."""

    START = "start"
    ASIDE = "aside"
    COMMA = "comma"
    TIME = "when"
    AND = "and"
    FORWARD = "effect"
    BACKWARD = "cause"
    NO_EFFECT = "no effect on"
    NO_RELATION = "no relation to"
    NOTHING = "changes nothing"
    CONDITION = "if"
    REGARDLESS = "whether or not"
    THEN = "then"


_PLAIN = (Joint.START, Joint.ASIDE, Joint.COMMA, Joint.TIME, Joint.AND)
_GERUND = re.compile(r"ing\b")
_TOKEN = re.compile(r"→|[^\W_]+(?:['-][^\W_]+)*|[,:()–—|\"]")
_REACH = 4
"""Words before a cue among which its negation stands."""
_HAD_NOT = 12
_MOST_TOKENS = 400
"""Tokens of a sentence that are read: a longer one is a loop."""
_OPENING = {"by": Joint.BACKWARD, "with": Joint.CONDITION}
"""Prepositions that join only at the start of a clause: "with the valve closed, he can …"."""
_LACKING = frozenset({"not", "no", "without", "skipping", "omitting", "failing", "lacking"})
_INFERRING = frozenset({"so", "therefore", "thus", "hence", "consequently", "accordingly", "as"})
_SOME = 10
"""Words on either side of a verb in which the actions are looked for that it may join."""
_BEFORE_A_NOUN = frozenset({"the", "a", "an", "his", "her", "their", "its", "no"})
_NOUNS = frozenset({"cause", "reason", "trigger", "basis", "what"})
_ONLY_THEN = frozenset({"once", "after", "when", "if"})
_DENIABLE = (Joint.FORWARD, Joint.BACKWARD, Joint.NO_EFFECT, Joint.NO_RELATION)
_BY_ROLE = (
    ("forward", Joint.FORWARD), ("backward", Joint.BACKWARD), ("no_effect", Joint.NO_EFFECT),
    ("no_relation", Joint.NO_RELATION), ("nothing_changes", Joint.NOTHING), ("regardless", Joint.REGARDLESS),
    ("condition", Joint.CONDITION), ("time", Joint.TIME), ("between", Joint.ASIDE),
)  # fmt: skip


def _base(word: str) -> str:
    verb = word.endswith("s") and not word.endswith(("ss", "us", "is", "as"))
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if verb else word


def _table() -> dict[str, list[tuple[tuple[str, ...], Joint]]]:
    table: dict[str, list[tuple[tuple[str, ...], Joint]]] = {}
    for role, joint in _BY_ROLE:
        for words in phrases(role):
            # "depends on" stands for "depend on" as well.
            for first in {words[0], _base(words[0])}:
                table.setdefault(first, []).append(((first, *words[1:]), joint))
    for entries in table.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return table


_PHRASES = _table()


@dataclass
class Clause:
    """Some words of a sentence without a cue among them.

    Attributes:
        joints: All that stands between it and the clause before.
        words: Its words.
        negated: Whether the cue before it is denied ("does not lead to").
        mention: What it speaks of.
        infers: Whether the cue before it may also open a conclusion ("so").
        names_cause: Whether the cue before it is a noun: "the cause of".
        denied_before: Whether the clause before it is nothing but its denial.
    """

    joints: list[Joint]
    words: list[str] = field(default_factory=list)
    negated: bool = False
    mention: ActionMention = field(default_factory=ActionMention)
    denied_before: bool = False
    infers: bool = False
    names_cause: bool = False

    @property
    def joint(self) -> Joint:
        """The joint that says most."""
        telling = [joint for joint in self.joints if joint not in _PLAIN]
        return telling[-1] if telling else self.joints[-1]

    @property
    def places(self) -> frozenset[int]:
        """The actions that it names."""
        return self.mention.places

    @property
    def denies(self) -> bool:
        """Whether it says that something is not so."""
        return self.denied_before or not DENIAL.isdisjoint(self.words)

    @property
    def keeps(self) -> bool:
        """Whether it says that something still is so."""
        return not STILL.isdisjoint(self.words)

    @property
    def must(self) -> bool:
        """Whether it says what has to be."""
        return any(
            word == "must" or (word in MUST and after == "to")
            for word, after in zip(self.words, [*self.words[1:], ""], strict=True)
        )

    @property
    def supposes(self) -> bool:
        """Whether it says what would be."""
        return not MODAL.isdisjoint(self.words)

    @property
    def hedges(self) -> bool:
        """Whether it says what may be."""
        return not HEDGE.isdisjoint(self.words)


def split_clauses(sentence: str, finder: ActionFinder) -> list[Clause]:
    """The clauses of a sentence with what they speak of, in time that is linear in its length."""
    words = _TOKEN.findall(sentence)[:_MOST_TOKENS]
    clauses = [Clause([Joint.START])]
    at = 0
    while at < len(words):
        current = clauses[-1]
        found = _cue(words, at, current, finder)
        if found is None:
            if _acts_next(words, at, current, finder):
                # "Pressing the button opens the door."
                current = Clause([Joint.FORWARD])
                clauses.append(current)
            elif _starts_consequence(words[at], current):
                current = Clause([Joint.THEN])
                clauses.append(current)
            current.words.append(words[at])
            at += 1
            continue
        joint, length = found
        negated = joint in _DENIABLE and _negated(current.words)
        if joint is Joint.NO_EFFECT and length == 1:
            # "does not affect": a verb of effect whose negation is before it.
            joint, negated = (Joint.NO_EFFECT, False) if negated else (Joint.FORWARD, False)
        infers = words[at] in _INFERRING and joint is Joint.FORWARD
        joints = [Joint.AND, joint] if words[at] == "but" and length > 1 else [joint]
        if current.words or current.joints == [Joint.START]:
            named = words[at] in _NOUNS and joint is Joint.FORWARD
            clauses.append(Clause(joints, negated=negated, infers=infers, names_cause=named))
        else:
            current.joints += joints
            current.negated = current.negated or negated
            current.infers = infers
        at += length
    for before, clause in zip([clauses[0], *clauses], clauses, strict=False):
        clause.mention = finder.find(clause.words, numbered="→" in words)
        empty = before is not clause and not before.mention.says_something and clause.joint is Joint.ASIDE
        # "There is no moment at which …"
        clause.denied_before = empty and before.denies
    return clauses


def _cue(words: list[str], at: int, current: Clause, finder: ActionFinder) -> tuple[Joint, int] | None:
    word = words[at]
    if word == ",":
        return Joint.COMMA, 1
    for phrase, joint in _PHRASES.get(word, ()):
        length = _length(words, at, phrase)
        if not length:
            continue
        after = words[at + length] if at + length < len(words) else ""
        if joint is Joint.BACKWARD and after == "to" and stem(word) in ("need", "requir"):
            continue
        if joint is Joint.FORWARD and after == "by":
            return Joint.BACKWARD, length + 1
        if len(phrase) == 1:
            if word == "then" and current.words and current.words[-1] in MODAL:
                continue
            if word == "had" and not _opens_condition(words, at, current):
                continue
            if joint is Joint.FORWARD and finder.has_word(stem(word)):
                continue
            if word in _ONLY_THEN and "only" in current.words:
                return Joint.BACKWARD, 1
            if word == "before" and not MUST.isdisjoint(current.words):
                return Joint.FORWARD, 1
            if word == "and":
                return Joint.AND, 1
        return joint, length
    if word in _OPENING and not current.words and current.joint in _PLAIN:
        return _OPENING[word], 1
    stemmed = stem(word)
    if stemmed in AFFECT_VERBS and not finder.has_word(stemmed):
        return Joint.NO_EFFECT, 1
    named = at > 0 and words[at - 1] in _BEFORE_A_NOUN
    if (
        stemmed in FORWARD_VERBS
        and not named
        and not (
            stemmed in SHARED_VERBS and finder.has_word(stemmed) and not _stands_between(words, at, current, finder)
        )
    ):
        if stemmed == "prevent" and not _LACKING & set(current.words[:1]):
            # What keeps another action from happening is no link of these graphs.
            return Joint.ASIDE, 1
        if at + 1 < len(words) and words[at + 1] == "by":
            return Joint.BACKWARD, 2
        return Joint.FORWARD, 1
    return None


def _length(words: list[str], at: int, phrase: tuple[str, ...]) -> int:
    """Words that a phrase takes here, an adverb behind its first word included ("depends entirely on"); 0 for none."""
    if tuple(words[at : at + len(phrase)]) == phrase:
        return len(phrase)
    adverb = len(phrase) > 1 and at + 1 < len(words) and words[at + 1].endswith("ly")
    return len(phrase) + 1 if adverb and tuple(words[at + 2 : at + 1 + len(phrase)]) == phrase[1:] else 0


def _stands_between(words: list[str], at: int, current: Clause, finder: ActionFinder) -> bool:
    """Whether a verb that an action has as well joins two others: "pressing the button starts the belt"."""
    before = current.words[-_SOME:]
    causes = finder.find(before).places
    if not causes or finder.shares_word(before, finder.with_word(stem(words[at]))):
        return False
    return bool(finder.find(words[at : at + _SOME], causes).places)


def _acts_next(words: list[str], at: int, current: Clause, finder: ActionFinder) -> bool:
    """Whether the verb of another action stands behind one that is its subject: "pressing the button opens"."""
    if not current.words or not _GERUND.search(" ".join(current.words[:2])) or not words[at].endswith(("s", "ed")):
        return False
    may_act = words[at - 1] not in _BEFORE_A_NOUN and finder.has_word(stem(words[at]))
    return may_act and _stands_between(words, at, current, finder)


def _opens_condition(words: list[str], at: int, current: Clause) -> bool:
    return not current.words and "not" in words[at + 1 : at + _HAD_NOT]


def _starts_consequence(word: str, current: Clause) -> bool:
    """Whether a clause that opened with a condition or cause goes on to its consequence without a comma."""
    opened = current.joint in (Joint.CONDITION, Joint.BACKWARD, Joint.REGARDLESS)
    return opened and (word in MODAL or word == "able") and any(content_stem(one) for one in current.words)


def _negated(words: list[str]) -> bool:
    if len(words) > 1 and words[0] in _LACKING:
        # "Not cracking the eggs means that he cannot whisk them."
        return False
    last = words[-_REACH:]
    if "only" in last[-1:]:
        return False
    return any(word in DENIAL for word in last)
