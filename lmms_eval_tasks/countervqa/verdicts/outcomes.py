"""What a sentence says of the outcome without the words yes and no: "it would still happen", "B requires A"."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from lmms_eval_tasks.countervqa.verdicts import words
from lmms_eval_tasks.countervqa.verdicts.sentences import QUOTES, Sentence, is_mark
from lmms_eval_tasks.countervqa.verdicts.statements import NO, OPPOSITE, UNCLEAR, YES, Assertion, Force

_BEHIND = 10
_BEFORE = 12
_NEAR = 4
_SHORT = 5
_CONDITION = frozenset({"had", "did", "were", "was", "not", "happened", "skipped"})
_DENYING = frozenset({"not", "no", "never", "nor", "neither", "nothing", "none", "without", "hardly"})


def read_outcomes(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says, in order of kind: what would be, what is, and how the actions are linked."""
    if gives_up(sentence):
        yield Assertion(UNCLEAR, Force.STATED)
    if words.MODAL & set(sentence.words):
        yield from _modals(sentence)
    elif not gives_up(sentence):
        yield from _plainly(sentence)
    yield from _links(sentence)


def gives_up(sentence: Sentence) -> bool:
    """Whether the sentence says that there is no telling, and does not go on to tell."""
    if sentence.word(0) == "whether" and {"depends", "depend"} & set(sentence.words):
        return True
    found = words.PHRASES["unclear"].search(sentence.text)
    return found is not None and not {"but", "however", "though"} & set(sentence.text[found.end() :].split())


def _modals(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says would be, could be or will be."""
    for at, word in enumerate(sentence.words):
        if word not in words.MODAL or _is_condition(sentence, at):
            continue
        before = sentence.words[max(0, at - _BEFORE) : at]
        behind = _clause(sentence, at + 1)
        for mark in (":", ";"):
            before = before[len(before) - before[::-1].index(mark) :] if mark in before else before
        turned = words.PHRASES["flip"].search(" ".join(before))
        subject = before[len(" ".join(before)[: turned.end()].split()) :] if turned else before
        statement = _modal(_last_clause(subject), behind, sentence, at)
        if statement and turned:
            statement = replace(statement, pole=OPPOSITE[statement.pole])
        if statement:
            yield statement


def _clause(sentence: Sentence, start: int) -> list[str]:
    """The words behind a modal verb, up to the end of its clause."""
    reach = sentence.words[start : start + _BEHIND]
    clause = takewhile(lambda word: word not in words.CLAUSE_END and word not in words.MODAL, reach)
    return [word for word in clause if word not in QUOTES]


def _last_clause(before: Sequence[str]) -> list[str]:
    """The words since the last mark or joining word: the subject and what belongs to it."""
    clause: list[str] = []
    for word in before:
        begins = is_mark(word) or (word in words.CLAUSE_START and clause[-1:] != ["of"])
        clause = [] if begins else [*clause, word]
    return clause


def _is_condition(sentence: Sentence, at: int) -> bool:
    """Whether a modal verb stands in a condition, or in a question that is only repeated."""
    before = sentence.words[max(0, at - _BEFORE) : at]
    for step, word in enumerate(reversed(before)):
        if word in (",", ";", ":"):
            return False
        if word in ("whether", "before", "until", "once"):
            return True
        if word == "if":
            return step <= _NEAR and not _CONDITION & set(before[len(before) - step :])
    return False


def _modal(subject: list[str], behind: list[str], sentence: Sentence, at: int) -> Assertion | None:
    """What one modal verb says, by its subject and the words behind it; the rules are tried in order."""
    verbs = [word for word in behind if word not in words.VERB_FILLER]
    verb = verbs[0] if verbs else ""
    negated = any(word in words.NEGATION for word in behind[:4]) or "never" in behind
    negated = negated or _near(behind, "no", {"longer"})
    if behind[:1] == ["not"] and "only" in behind[1:3]:
        negated = False
    by_subject = bool(subject) and subject[0] in words.NEGATIVE_SUBJECT
    denies = negated != by_subject
    if subject[-1:] in (["i"], ["we"]) and (verb in words.SAY or verb in words.ASIDE):
        return None
    if negated and (any(word in words.TELLING for word in verbs[:2]) or "necessarily" in behind[:4]):
        return Assertion(UNCLEAR, Force.STATED)
    noun = words.EFFECT_NOUN & set(behind)
    if noun and (denies or _near(behind, "no", words.EFFECT_NOUN)):
        return Assertion(YES, Force.STATED)
    if by_subject and words.EFFECT_NOUN & set(subject[1:3]):
        return Assertion(NO if negated else YES, Force.STATED)
    if "difference" in noun:
        return Assertion(NO, Force.LEANING)
    keeps_from = verb in ("keep", "kept") and "from" in behind
    if keeps_from or (verb in words.EFFECT and not (verb in ("need", "needed") and "to" in behind)):
        if denies:
            return Assertion(YES, Force.STATED)
        return Assertion(NO, Force.STATED if keeps_from or verb in words.PREVENTING else Force.LEANING)
    if any(word in words.FAILING for word in verbs):
        return Assertion(YES if denies else NO, Force.STATED)
    if any(word in ("no", "nothing", "nobody", "none") for word in behind[:5]) and not _near(behind, "no", {"longer"}):
        return Assertion(NO, Force.STATED)
    if denies:
        return Assertion(YES if words.CHANGED & set(behind) else NO, Force.STATED)
    return _affirmed(behind, verbs, sentence, at)


def _affirmed(behind: list[str], verbs: list[str], sentence: Sentence, at: int) -> Assertion | None:
    """What a modal verb says that nothing negates."""
    verb = verbs[0] if verbs else ""
    keeps = verb in words.KEEPING
    state = verbs[1] if keeps and len(verbs) > 1 else verb
    if state in words.UNCHANGED:
        return Assertion(YES, Force.STATED)
    if keeps or _near(behind, "be", words.STATE) or _near(behind, "been", words.STATE):
        return Assertion(NO, Force.LEANING)
    stays = bool(words.STILL & set(behind[:3])) or sentence.word(at - 1) in words.STILL
    stays = stays or bool((words.STILL - {"still"}) & set(behind))
    # "The second action would" without a full stop is cut off.
    elliptical = not verbs and "have" not in behind[1:] and (is_mark(sentence.words[-1]) or at < _SHORT)
    if stays or verb in words.OCCURRING or elliptical:
        return Assertion(YES, Force.STATED)
    if {"different", "differ", "differently", "differed"} & set(behind):
        return Assertion(NO, Force.LEANING)
    end = sentence.words[at + 1 + len(behind) : at + 3 + len(behind)]
    if verb in words.ASIDE or words.CHANGED & set(behind) or (end[:1] == ("without",) and end[-1].endswith("ing")):
        return None
    return Assertion(YES, Force.HINT) if verbs else None


def _near(behind: Sequence[str], first: str, others: Collection[str]) -> bool:
    """Whether a word stands before one of others, at most two words between them."""
    return any(
        word == first and any(other in others for other in behind[at + 1 : at + 4]) for at, word in enumerate(behind)
    )


def _plainly(sentence: Sentence) -> Iterator[Assertion]:
    """Statements without a modal verb: "it still happens", "B is impossible", and those of other languages."""
    for at, word in enumerate(sentence.words):
        following, denied = sentence.words[at + 1 : at + 4], sentence.word(at - 1) in _DENYING
        if word == "still" and following[:1] and (following[0] in words.OCCURRING or following[0] in ("does", "goes")):
            yield Assertion(YES, Force.STATED)
        elif word in ("is", "was", "becomes", "became", "are", "remains") and {"impossible", "unlikely"} & {
            *following[:1]
        }:
            yield Assertion(NO, Force.STATED)
        elif word in ("stays", "remains", "is", "stay", "remain") and words.UNCHANGED & {*following[:2]}:
            if "not" not in following and not denied:
                yield Assertion(YES, Force.STATED if word not in ("is",) else Force.LEANING)
        elif word in words.LOSING:
            yield Assertion(YES if denied else NO, Force.LEANING)
    if sum(word in words.ENGLISH for word in sentence.words) > 1:
        return
    text = "".join(word if not word.isascii() else f" {word} " for word in sentence.words).replace("  ", " ")
    for candidate in dict.fromkeys((" ".join(sentence.words), text)):
        for role, pole in (("unclear", UNCLEAR), ("no", NO), ("yes", YES), ("no_then", NO)):
            if any(pattern.search(candidate) for pattern in words.PATTERNS[role]):
                yield Assertion(pole, Force.STATED)
                return


def _links(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says of the link between the actions."""
    text = sentence.text
    if not words.MODAL & set(sentence.words):
        if words.PHRASES["anyway"].search(text) or (words.STILL - {"still"}) & set(sentence.words):
            yield Assertion(YES, Force.LEANING)
        yield from _effects(sentence)
    for role, pole in (("independent", YES), ("dependent", NO)):
        for found in words.PHRASES[role].finditer(text):
            before = text[: found.start()].split()[-_NEAR:]
            # A phrase with a negation of its own is not turned round by another: "not doing it changes nothing".
            denied = not _DENYING & set(found.group().split()) and bool(_DENYING & set(before))
            yield Assertion(OPPOSITE[pole] if denied else pole, Force.LEANING)


def _effects(sentence: Sentence) -> Iterator[Assertion]:
    """What an absence does to the outcome: "it does not affect B", "nothing prevents it", "it has no consequence"."""
    for at, word in enumerate(sentence.words):
        before = set(sentence.words[max(0, at - 3) : at])
        stem = word.removesuffix("s")
        if word in words.EFFECT_NOUN and "no" in before:
            yield Assertion(YES, Force.LEANING)
        elif (stem in words.EFFECT or word in words.EFFECT) and not {"had", "if"} & set(sentence.words[:at]):
            if _DENYING & before:
                yield Assertion(YES, Force.LEANING)
            elif stem in words.PREVENTING:
                yield Assertion(NO, Force.LEANING)
