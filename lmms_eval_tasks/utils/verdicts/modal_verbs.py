"""What a sentence says would be or could be: "it would still happen", "she could not have cut it"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from lmms_eval_tasks.utils.verdicts import vocabulary
from lmms_eval_tasks.utils.verdicts.links import in_any_case
from lmms_eval_tasks.utils.verdicts.sentences import Sentence, is_mark, stem
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, UNCLEAR, YES, Assertion, Force

_REACH = 12
_NEAR = 4
_WEAK = frozenset({"might", "may"})
_NARRATORS = frozenset({"i", "we"})
_WHOLE = frozenset({"outcome", "outcomes", "result", "results", "everything", "events", "ending", "rest"})
"""Subjects that stand for all that happens: where they stay the same, so does what is asked about."""


def read_modal_verbs(sentence: Sentence) -> Iterator[Assertion]:
    """What each modal verb of a sentence says."""
    words = sentence.words
    for at, word in enumerate(words):
        before = " ".join(words[max(0, at - _REACH) : at]).rpartition(": ")[2].split()
        if word not in vocabulary.MODAL or _is_beside_the_point(before) or (word in _WEAK and "but" in words[at:]):
            continue
        turned = vocabulary.PHRASES["flip"].search(" ".join(before))
        start = at + 1
        while words[start : start + 1] and words[start] in vocabulary.JOINING:
            start += 1
        behind = [*takewhile(lambda one: one not in vocabulary.CLAUSE_END, words[start : start + _REACH])]
        end = words[start + len(behind) : start + len(behind) + 2]
        statement = _read(_subject(before), before, behind, sentence, end)
        if statement and turned:
            yield replace(statement, verdict=OPPOSITE[statement.verdict], force=Force.STATED)
        elif statement:
            yield statement


def _is_beside_the_point(before: list[str]) -> bool:
    """Whether a verb stands in a question that is only repeated, in a clause of time or in a concession."""
    clause = takewhile(lambda word: not is_mark(word), reversed(before))
    return any(word in ("whether", "before", "until", "once") or word in vocabulary.CONCESSION for word in clause)


def _subject(before: list[str]) -> list[str]:
    """The words since the last mark or joining word: the subject and what belongs to it."""
    clause: list[str] = []
    for word in before:
        begins = is_mark(word) or (word in vocabulary.CLAUSE_START and clause[-1:] != ["of"])
        clause = [] if begins else [*clause, word]
    return clause


def _read(
    subject: list[str], before: list[str], behind: list[str], sentence: Sentence, end: tuple[str, ...]
) -> Assertion | None:
    """What one modal verb says, by its subject and the words behind it; the rules are tried in order."""
    verbs = [word for word in behind if word not in vocabulary.VERB_FILLER]
    verb = verbs[0] if verbs else ""
    known = {*behind}
    negated = bool(vocabulary.NEGATION & {*behind[:_NEAR]}) or "never" in known
    by_subject = bool(vocabulary.NEGATIVE_SUBJECT & {*subject[:1], *before[-2:-1]})
    denied = negated != by_subject
    if verb in vocabulary.SAY:
        return None
    telling = vocabulary.TELLING & {*verbs[:2]} - ({"access"} if not _NARRATORS & {*subject} else set())
    if negated and telling:
        return Assertion(UNCLEAR, Force.STATED)
    noun = vocabulary.EFFECT_NOUN & {*known, *subject[1:3]}
    if noun and (denied or "no" in known):
        return Assertion(YES, Force.STATED)
    if "difference" in noun:
        return Assertion(NO, Force.LINK)
    if verb in vocabulary.EFFECT or (verb in ("keep", "kept") and "from" in known):
        return Assertion(YES if denied else NO, Force.STATED)
    if stem(verb) in sentence.asked and not {"no", "nothing", *vocabulary.KEEPING} & {verb, *behind[:5]}:
        return Assertion(NO if denied else YES, Force.STATED)
    if vocabulary.FAILING & {*verbs} or (
        verb in vocabulary.ENDING and "up" not in known and not negated and not in_any_case(sentence)
    ):
        return Assertion(YES if denied else NO, Force.STATED)
    if {"no", "nothing", "nobody", "none"} & {*behind[:5]}:
        return Assertion(NO, Force.STATED)
    if denied:
        return Assertion(YES if vocabulary.CHANGED & known else NO, Force.STATED)
    return _affirmed(subject, behind, verbs, sentence, end)


def _affirmed(
    subject: list[str], behind: list[str], verbs: list[str], sentence: Sentence, end: tuple[str, ...]
) -> Assertion | None:
    """What a modal verb says that nothing negates."""
    verb = verbs[0] if verbs else ""
    known = {*behind}
    if in_any_case(sentence):
        return Assertion(YES, Force.STATED)
    keeps = verb in vocabulary.KEEPING
    if vocabulary.UNCHANGED & {*verbs[keeps : keeps + 1]} or (keeps and _WHOLE & {*subject[-1:]}):
        return Assertion(YES, Force.STATED)
    if keeps or ({"be", "been"} & known and verb in vocabulary.STATE):
        return Assertion(NO, Force.LINK)
    cut_short = not verbs and is_mark(sentence.words[-1])
    if vocabulary.STILL & {*behind[:3]} or verb in vocabulary.OCCURRING or cut_short:
        return Assertion(YES, Force.STATED)
    if {"different", "differently", "differ"} & known:
        return Assertion(NO, Force.LINK)
    without = end[:1] == ("without",) and end[-1].endswith("ing")
    if not verbs or verb in vocabulary.ASIDE or vocabulary.CHANGED & known or without:
        return None
    return Assertion(YES, Force.HINT)
