"""The words that join a clause to the one before: "leads to", "because", "without", "has no effect on"."""

from __future__ import annotations

from lmms_eval_tasks.train.rewards.clause import PLAIN, Clause, Joint
from lmms_eval_tasks.train.rewards.mentions import ActionFinder
from lmms_eval_tasks.train.rewards.words import (
    AFFECT_VERBS,
    CONTACT_VERBS,
    DENIAL,
    FORWARD_VERBS,
    MODAL,
    MUST,
    SHARED_VERBS,
    phrases,
    stem,
)

_REACH = 4
"""Words before a cue among which its negation stands."""
_HAD_NOT = 12
_FOR_TO = 8
_OPENING = {"by": Joint.BACKWARD, "having": Joint.BACKWARD, "being": Joint.BACKWARD, "with": Joint.CONDITION}
"""Words that join only at the start of a clause: "with the valve closed, he can …", "having opened it, he …"."""
_CONJUNCTIONS = frozenset({"because", "due", "thanks", "owing"})
_LACKING = frozenset({"not", "no", "without", "skipping", "omitting", "failing", "lacking", "removing"})
_SOME = 10
"""Words on either side of a verb in which the actions are looked for that it may join."""
BEFORE_A_NOUN = frozenset({"the", "a", "an", "his", "her", "their", "its", "no"})
_IS = (["is"], ["was"])
_MEANS = frozenset({"by", "through"})
_PERFECT = frozenset({"has", "have", "had"})
_ENDS_A_CLAUSE = frozenset({",", ":", "(", "and", "which"})
_PASSIVE = frozenset({"is", "was", "are", "were", "be", "been", "being"})
_OBJECT = frozenset({"for", "to", "in", "on", "of", "before", "between"})
_NO_CONTRAST = frozenset({
    "because", "due", "since", "thanks", "as", "only", "just", "even", "to", "that", "necessarily"
})  # fmt: skip
_CAUSAL_NOUNS = frozenset({"cause", "reason", "trigger", "source", "result", "consequence", "effect"})
_OF_VERBS = (Joint.FORWARD, Joint.BACKWARD, Joint.RELATION)
_ONLY_THEN = frozenset({"once", "after", "when", "if"})
_BY_ROLE = (
    ("forward", Joint.FORWARD), ("backward", Joint.BACKWARD), ("no_effect", Joint.NO_EFFECT),
    ("no_relation", Joint.NO_RELATION), ("nothing_changes", Joint.NOTHING), ("regardless", Joint.REGARDLESS),
    ("condition", Joint.CONDITION), ("relation", Joint.RELATION), ("time", Joint.TIME), ("contrast", Joint.CONTRAST),
    ("between", Joint.ASIDE),
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


Cue = tuple[Joint, int]
"""How a clause is joined to the one before, and how many words say so."""


def find_cue(words: list[str], at: int, current: Clause, finder: ActionFinder) -> Cue | None:
    """The cue at a place of a sentence, by which what follows is joined to the clause at hand; None where none is."""
    if words[at] == ",":
        return Joint.COMMA, 1
    return (
        _phrase_cue(words, at, current, finder)
        or _preposition_cue(words, at, current, finder)
        or _verb_cue(words, at, current, finder)
    )


def _phrase_cue(words: list[str], at: int, current: Clause, finder: ActionFinder) -> Cue | None:
    word = words[at]
    for phrase, joint in _PHRASES.get(word, ()):
        length = _length(words, at, phrase)
        if not length:
            continue
        after = words[at + length] if at + length < len(words) else ""
        if joint is Joint.BACKWARD and after == "to" and stem(word) in ("need", "requir"):
            continue
        if joint is Joint.CONTRAST and not _contrasts(words, at, length, current):
            continue
        if joint is Joint.NOTHING and after in _OBJECT:
            # "Not important for B" names what is not changed.
            continue
        if joint is Joint.FORWARD and after == "by":
            return Joint.BACKWARD, length + 1
        is_action = joint in _OF_VERBS and finder.has_word(stem(word))
        if is_action and (len(phrase) == 1 or not stands_between(words, at, current, finder)):
            continue
        if len(phrase) > 1:
            return joint, length
        if word == "then" and current.words and current.words[-1] in MODAL:
            continue
        if word == "had" and not _opens_condition(words, at, current):
            continue
        if word in _ONLY_THEN and "only" in current.words:
            return Joint.BACKWARD, 1
        if word == "before" and not MUST.isdisjoint(current.words):
            return Joint.FORWARD, 1
        if word == "as" and _gives_a_reason(words, at):
            return Joint.BACKWARD, 1
        if word == "until" and current.must_not:
            return Joint.CONDITION, 1
        return (Joint.AND if word == "and" else joint), 1
    return None


def _preposition_cue(words: list[str], at: int, current: Clause, finder: ActionFinder) -> Cue | None:
    word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    if word == "for" and current.must and "to" in words[at + 1 : at + _FOR_TO]:
        # "A must be done for B to be done."
        return Joint.FORWARD, 1
    if word == "that" and (joint := _relative(current, finder)) is not None:
        return joint, 1
    if word == "by" and _is_passive(words, at, current, finder):
        # "The glass is shattered by the note."
        return Joint.BACKWARD, 1
    if word in _MEANS and current.words and after.endswith("ing"):
        # "He frees it by climbing up."
        return Joint.BACKWARD, 1
    if word in _OPENING and not current.words and (current.joint in PLAIN or current.infers):
        return _OPENING[word], 1
    return None


def _verb_cue(words: list[str], at: int, current: Clause, finder: ActionFinder) -> Cue | None:
    stemmed, after = stem(words[at]), words[at + 1] if at + 1 < len(words) else ""
    is_action = finder.has_word(stemmed)
    if stemmed in AFFECT_VERBS and not is_action:
        return (Joint.BACKWARD, 2) if after == "by" else (Joint.NO_EFFECT, 1)
    if stemmed in CONTACT_VERBS and not is_action and current.words and negates(current.words):
        # What never touches another thing does not move it.
        return Joint.NO_EFFECT, 1
    before = words[at - 1] if at else ""
    if stemmed not in FORWARD_VERBS or before in BEFORE_A_NOUN:
        return None
    if stemmed in SHARED_VERBS and is_action and not stands_between(words, at, current, finder):
        return None
    if stemmed == "prevent":
        # What keeps another action from happening is no link of these graphs, and to lack it is one.
        keeps = Joint.FORWARD if lacks(current.words) else Joint.ASIDE
        return (Joint.NO_EFFECT if negates(current.words) else keeps), 1
    if after == "by":
        return Joint.BACKWARD, 2
    if words[at].endswith("ed") and before in _PASSIVE and after not in _OBJECT:
        # "The block is pushed" says nothing of what it pushes.
        return None
    return Joint.FORWARD, 1


def _is_passive(words: list[str], at: int, current: Clause, finder: ActionFinder) -> bool:
    if _PASSIVE.isdisjoint(current.words[-_REACH:-1]):
        return False
    effects, causes = finder.find(current.words).places, finder.find(words[at + 1 : at + 1 + _SOME]).places
    return bool(effects and causes) and effects.isdisjoint(causes)


def _gives_a_reason(words: list[str], at: int) -> bool:
    """Whether "as" means "because": "as A, B", and "B as he had done A"."""
    return at == 0 or not _PERFECT.isdisjoint(words[at + 1 : at + _REACH])


def _relative(current: Clause, finder: ActionFinder) -> Joint | None:
    """What "that" joins in "it was A that did B", and in "B can only be done with what was A"; else None."""
    if current.words[:1] == ["it"] and current.words[1:2] in _IS:
        return Joint.FORWARD if finder.find(current.words).places else None
    return Joint.BACKWARD if "only" in current.words and current.supposes else None


def _contrasts(words: list[str], at: int, length: int, current: Clause) -> bool:
    """Whether "not" names another cause, as in "A, not B, leads to C", and denies no verb or cue."""
    if words[at] == "not" and (current.words or current.joints[-1] is not Joint.COMMA):
        return False
    after = words[at + length : at + length + 2]
    return _NO_CONTRAST.isdisjoint(after[:1]) and _CAUSAL_NOUNS.isdisjoint(after[1:])


def _length(words: list[str], at: int, phrase: tuple[str, ...]) -> int:
    """Words that a phrase takes here, an adverb behind its first word included ("depends entirely on"); 0 for none."""
    if tuple(words[at : at + len(phrase)]) == phrase:
        return len(phrase)
    adverb = len(phrase) > 1 and at + 1 < len(words) and words[at + 1].endswith("ly")
    return len(phrase) + 1 if adverb and tuple(words[at + 2 : at + 1 + len(phrase)]) == phrase[1:] else 0


def stands_between(words: list[str], at: int, current: Clause, finder: ActionFinder) -> frozenset[int]:
    """The effects of a verb that an action has as well, and that joins two: "pressing the button starts the belt"."""
    before = current.words[-_SOME:]
    causes = finder.find(before).places
    if not causes or finder.shares_word(before, finder.with_word(stem(words[at]))):
        return frozenset()
    behind = words[at : at + _SOME]
    end = next((place for place, word in enumerate(behind) if word in _ENDS_A_CLAUSE), len(behind))
    return finder.find(behind[:end], causes).places


def _opens_condition(words: list[str], at: int, current: Clause) -> bool:
    """Whether "had" is one of "had A not …"."""
    return (not current.words or current.supposes) and "not" in words[at + 1 : at + _HAD_NOT]


def negates(words: list[str], cue: str = "") -> bool:
    """Whether the words before a cue deny it; before "because" these are all of the clause."""
    if (words[:1] == ["it"] and words[2:3] == ["not"]) or "neither" in words:
        # "It is not A that leads to B", "neither A nor B leads to C".
        return True
    last = words[lacks(words) :][0 if cue in _CONJUNCTIONS else -_REACH :]
    if "only" in last[-1:]:
        return False
    return any(word in DENIAL for word in last)


def lacks(words: list[str]) -> bool:
    """Whether words open with what is left out: "not cracking the eggs"."""
    return len(words) > 1 and words[0] in _LACKING
