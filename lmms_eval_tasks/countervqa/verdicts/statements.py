"""What each sentence of an answer says of the outcome: a verdict by itself, or a statement that amounts to one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import takewhile

from lmms_eval_tasks.countervqa.verdicts import words
from lmms_eval_tasks.countervqa.verdicts.sentences import Sentence

YES, NO, UNCLEAR = "yes", "no", "cannot tell"
OPPOSITE = {YES: NO, NO: YES, UNCLEAR: UNCLEAR}

_LABEL_REACH = 14
_BEHIND = 10
_BEFORE = 9
_SUBJECT = 4
_LEAD = 12
_SKIPPED_QUOTES = frozenset("\"'“”‘’«»")


class Force(IntEnum):
    """How much a statement weighs."""

    HINT = 1
    """The outcome in plain words: "the ball would have rolled"."""
    LEANING = 2
    """A link between the actions: "B requires A"."""
    STATED = 3
    """The outcome, affirmed or denied: "it would still happen"."""
    LEAD = 4
    """A yes or no that opens a sentence or ends its conclusion."""
    LABEL = 5
    """A yes or no behind a label, or alone in its line."""


@dataclass(frozen=True)
class Statement:
    """One thing that a sentence says.

    Attributes:
        pole: "yes", "no" or "cannot tell".
        force: How much it weighs.
        place: Number of its sentence.
        revises: Whether it takes back what was said before.
        concludes: Whether it is a conclusion.
    """

    pole: str
    force: Force
    place: int = 0
    revises: bool = False
    concludes: bool = False


def read_statements(sentences: list[Sentence]) -> list[Statement]:
    """All statements in the order of the text; what is only asked or considered is left out."""
    statements: list[Statement] = []
    revises = False
    for place, sentence in enumerate(sentences):
        marked = bool(words.PHRASES["revise"].search(sentence.text))
        revises = revises or marked
        concludes = bool(words.PHRASES["conclude"].match(sentence.text.removeprefix("and ")))
        last = place == len(sentences) - 1
        said = list(_read(_without_temptation(sentence), place == 0 or last))
        statements += [replace(one, place=place, revises=revises, concludes=concludes) for one in said]
        if said and not (marked and len(sentence.words) < _SUBJECT):
            revises = False
    return statements


def _read(sentence: Sentence, at_an_end: bool) -> Iterator[Statement]:
    sentence = _without_choices(sentence)
    unclear = _gives_up(sentence)
    labelled = _labelled(sentence)
    if labelled:
        yield Statement(labelled, Force.LABEL)
    elif lead := _leading(sentence):
        alone = sentence.alone and at_an_end and len(sentence.words) <= _SUBJECT
        yield Statement(lead, Force.LABEL if alone else Force.LEAD)
    elif not sentence.asks and (found := _said(sentence)):
        yield Statement(found, Force.LEAD)
    if sentence.asks:
        return
    if unclear:
        yield Statement(UNCLEAR, Force.STATED)
    modal = list(_modals(sentence))
    yield from modal
    if not modal and not unclear:
        yield from _plainly(sentence)
    yield from _links(sentence)


def _without_temptation(sentence: Sentence) -> Sentence:
    """The sentence without a verdict that it only considers: "at first glance yes, but …"."""
    if not words.PHRASES["tempting"].search(sentence.text):
        return sentence
    contrasts = [at for at, word in enumerate(sentence.words) if word in ("but", "however", "yet")]
    return replace(sentence, words=sentence.words[contrasts[0] + 1 :] if contrasts else ())


def _without_choices(sentence: Sentence) -> Sentence:
    """The sentence without "yes or no", which names both and chooses none."""
    kept: list[str] = []
    at = 0
    while at < len(sentence.words):
        step = next((gap for gap in (2, 4) if _is_choice(sentence, at, gap)), 0)
        kept += [] if step else [sentence.words[at]]
        at += step + 1
    return replace(sentence, words=tuple(kept)) if len(kept) < len(sentence.words) else sentence


def _is_choice(sentence: Sentence, at: int, gap: int) -> bool:
    poles = {_pole(sentence.word(at)), _pole(sentence.word(at + gap))}
    between = set(sentence.words[at + 1 : at + gap]) - _SKIPPED_QUOTES
    return poles == {YES, NO} and bool(between) and between <= {"or", "/", "and", "|", "nor", "vs"}


def _pole(word: str) -> str | None:
    return YES if word in words.YES else NO if word in words.NO else None


def _gives_up(sentence: Sentence) -> bool:
    """Whether the sentence says that there is no telling, and does not go on to tell."""
    if sentence.word(0) == "whether" and {"depends", "depend"} & set(sentence.words):
        return True
    found = words.PHRASES["unclear"].search(sentence.text)
    return bool(found) and not {"but", "however", "though"} & set(sentence.text[found.end() :].split())


def _labelled(sentence: Sentence) -> str | None:
    """The verdict behind a label: "the answer is a clear no", "Answer: yes"."""
    for at, word in enumerate(sentence.words):
        if word not in words.LABEL and not (at == 0 and word == "a" and sentence.word(1) == ":"):
            continue
        linked = False
        for step in range(at + 1, at + _LABEL_REACH):
            following = sentence.word(step)
            linked = linked or following in (":", "=", "is", "be", "→", "：", "-", "–", "—") or not following.isascii()
            pole = _pole(following) or (_alone(following) if linked and _ends(sentence, step + 1) else None)
            if pole:
                return pole if linked and not _is_noun(sentence, step) else None
            if following not in words.LABEL_FILLER and following not in words.LABEL:
                break
    return None


def _alone(word: str) -> str | None:
    return YES if word in words.YES_ALONE else NO if word in words.NO_ALONE else None


def _is_noun(sentence: Sentence, at: int) -> bool:
    """Whether a no stands before its noun: "the answer is: no effect"."""
    following = sentence.word(at + 1)
    return sentence.word(at) == "no" and following.isalpha() and following not in words.NO_FOLLOWER


def _ends(sentence: Sentence, at: int) -> bool:
    return not sentence.word(at) or not sentence.word(at)[0].isalnum()


def _leading(sentence: Sentence) -> str | None:
    """The verdict with which a sentence opens."""
    phrase = sentence.text.removeprefix("well ").removeprefix("so ")
    if words.PHRASES["no_opening"].match(phrase):
        return NO
    for pole, role in ((YES, "yes_phrase"), (NO, "no_phrase")):
        if found := words.PHRASES[role].match(phrase):
            rest = phrase[found.end() :].split()
            marked = _ends(sentence, _place_behind(sentence, len(phrase[: found.end()].split())))
            if not rest or (marked and found.group() not in ("it would", "he would", "she would", "they would")):
                return pole
    for at in range(min(_LEAD, len(sentence.words))):
        word = sentence.words[at]
        ends = _ends(sentence, at + 1)
        pole = _pole(word) or (_alone(word) if ends and sentence.word(at + 1) != "-" else None)
        if pole and (ends or _opens(sentence, at)):
            revised = words.PHRASES["revise"].match(" ".join(sentence.words[at + 1 : at + 5]).lstrip(", -–—.;"))
            return None if revised or sentence.word(at - 1) in ("not", "no") else pole
        if word not in words.LEAD_FILLER:
            return _joined(word) if at == 0 else None
    return None


def _place_behind(sentence: Sentence, count: int) -> int:
    """The place behind a number of words, marks not counted."""
    for at, word in enumerate(sentence.words):
        if word[0].isalnum():
            count -= 1
        if not count:
            return at + 1
    return len(sentence.words)


def _opens(sentence: Sentence, at: int) -> bool:
    """Whether a yes or no opens its sentence without a mark behind it: "No it would not"."""
    word, following = sentence.word(at), sentence.word(at + 1)
    if word in ("yes", "yep", "yeah", "yup"):
        return True
    return word in ("no", "nope") and following in words.NO_FOLLOWER


def _joined(word: str) -> str | None:
    """The verdict with which a word of a script without spaces opens: "是的因为…"."""
    if word.isascii():
        return None
    for pole, prefixes in ((YES, ("是的", "会的", "對的", "对的")), (NO, ("不会", "不會", "不是", "不能"))):
        if word.startswith(prefixes) and not word.startswith(("不会影响", "不会改变", "不会受")):
            return pole
    return None


def _said(sentence: Sentence) -> str | None:
    """The verdict that a verb of saying or a copula gives: "I would say no", "it's a yes", "so no"."""
    for at, word in enumerate(sentence.words):
        pole = _pole(word)
        if word not in ("yes", "no") or not (_ends(sentence, at + 1) or sentence.word(at + 1) in words.SAID_FOLLOWER):
            continue
        before = [one for one in sentence.words[max(0, at - _SUBJECT) : at] if one not in _SKIPPED_QUOTES]
        verb = next((one for one in reversed(before) if one not in words.LABEL_FILLER or one in ("be", "is")), "")
        article = bool(before) and before[-1] in ("a", "clear", "definite", "firm", "resounding", "strong", "likely")
        if verb in words.SAY or verb in words.CONCLUDE or (verb in ("is", "be") and article):
            return None if {"not", "never"} & set(before) else pole
    return None


def _modals(sentence: Sentence) -> Iterator[Statement]:
    """What the sentence says would be, could be or will be."""
    for at, word in enumerate(sentence.words):
        if word not in words.MODAL or _is_condition(sentence, at):
            continue
        before = sentence.words[max(0, at - _BEFORE) : at]
        behind = _clause(sentence, at + 1)
        turned = words.PHRASES["flip"].search(" ".join(before))
        subject = before[len(" ".join(before)[: turned.end()].split()) :] if turned else before
        statement = _modal(subject, behind, sentence, at)
        if statement and turned:
            statement = replace(statement, pole=OPPOSITE[statement.pole])
        if statement:
            yield statement


def _clause(sentence: Sentence, start: int) -> list[str]:
    """The words behind a modal verb, up to the end of its clause."""
    reach = sentence.words[start : start + _BEHIND]
    clause = list(takewhile(lambda word: word not in words.CLAUSE_END and word not in words.MODAL, reach))
    return [word for word in clause if word not in _SKIPPED_QUOTES]


def _is_condition(sentence: Sentence, at: int) -> bool:
    """Whether a modal verb stands in a condition or in a question that is only repeated."""
    before = sentence.words[max(0, at - _BEFORE) : at]
    for step, word in enumerate(reversed(before)):
        if word in (",", ";", ":"):
            return False
        if word == "whether":
            return True
        if word == "if":
            between = before[len(before) - step :]
            return step <= _SUBJECT and not {"had", "did", "were", "was", "not", "happened", "skipped"} & set(between)
    return False


def _modal(before: tuple[str, ...], behind: list[str], sentence: Sentence, at: int) -> Statement | None:
    """What one modal verb says, by the words around it; the rules are tried in order."""
    subject = before[-_SUBJECT:]
    for mark in (",", ";", ":", "(", "that", "and", "but"):
        if mark in subject:
            subject = subject[len(subject) - subject[::-1].index(mark) :]
    verbs = [word for word in behind if word not in words.VERB_FILLER]
    verb = verbs[0] if verbs else ""
    negated = any(word in words.NEGATION for word in behind[:4]) or behind[:2] == ["no", "longer"]
    negated = negated or _pair(behind, "no", {"longer"})
    if "only" in behind[1:3] and behind[:1] == ["not"]:
        negated = False
    by_subject = bool(subject) and any(word in words.NEGATIVE_SUBJECT for word in subject)
    denies = negated != by_subject
    if subject[-1:] in (("i",), ("we",)) and (verb in words.SAY or verb in words.ASIDE):
        return None
    if verb in words.TELLING and negated:
        return Statement(UNCLEAR, Force.STATED)
    if "not" in behind[:3] and "necessarily" in behind[:4]:
        return Statement(UNCLEAR, Force.STATED)
    if _pair(behind, "no", words.EFFECT_NOUN) or _pair(behind, "any", words.EFFECT_NOUN):
        return Statement(YES, Force.STATED)
    if verb in words.EFFECT and not (verb in ("need", "needed") and "to" in behind):
        if denies:
            return Statement(YES, Force.STATED)
        return Statement(NO, Force.STATED if verb in words.PREVENTING else Force.LEANING)
    if any(word in words.FAILING for word in verbs[:3]):
        return Statement(YES if denies else NO, Force.STATED)
    if "no" in behind[:4] and not _pair(behind, "no", {"doubt", "matter", "longer"}):
        return Statement(NO, Force.STATED)
    if denies:
        return Statement(NO, Force.STATED)
    stays = bool(words.STILL & set(behind)) or sentence.word(at - 1) in words.STILL
    return _affirmed(behind, verbs, stays)


def _affirmed(behind: list[str], verbs: list[str], stays: bool) -> Statement | None:
    """What a modal verb says that nothing negates."""
    verb = verbs[0] if verbs else ""
    keeps = verb in words.KEEPING
    state = verbs[1] if keeps and len(verbs) > 1 else verb
    if state in words.UNCHANGED:
        return Statement(YES, Force.STATED)
    if keeps or _pair(behind, "be", words.STATE) or _pair(behind, "been", words.STATE):
        return Statement(NO, Force.LEANING)
    if stays or verb in words.OCCURRING or (not verbs and "have" not in behind[1:]):
        return Statement(YES, Force.STATED)
    if verb in words.ASIDE or words.CHANGED & set(behind):
        return None
    return Statement(YES, Force.HINT) if verbs else None


def _pair(behind: list[str], first: str, second: frozenset[str] | set[str]) -> bool:
    """Whether a word stands before one of others, at most two words between them."""
    return any(
        word == first and second & set(behind[at + 1 : at + 4]) for at, word in enumerate(behind)
    )


def _plainly(sentence: Sentence) -> Iterator[Statement]:
    """Statements without a modal verb: "it still happens", "B is impossible", and those of other languages."""
    modal = bool(words.MODAL & set(sentence.words))
    for at, word in enumerate(sentence.words):
        following = sentence.word(at + 1)
        if word == "still" and not modal and (following in words.OCCURRING or following in ("happens", "does", "goes")):
            yield Statement(YES, Force.STATED)
        elif word in ("is", "was", "becomes", "became", "are", "remains") and following in ("impossible", "unlikely"):
            yield Statement(NO, Force.STATED)
        elif word == "not" and following in ("happen", "occur", "possible") and "had" not in sentence.words:
            if sentence.word(at - 1) in ("does", "is", "then") and "if" not in sentence.words:
                yield Statement(NO, Force.LEANING)
    if len(words.ENGLISH & set(sentence.words)) > 1:
        return
    text = "".join(word if not word.isascii() else f" {word} " for word in sentence.words).replace("  ", " ")
    for candidate in dict.fromkeys((" ".join(sentence.words), text)):
        for role, pole in (("unclear", UNCLEAR), ("no", NO), ("yes", YES), ("no_then", NO)):
            if any(pattern.search(candidate) for pattern in words.PATTERNS[role]):
                yield Statement(pole, Force.STATED)
                return


def _links(sentence: Sentence) -> Iterator[Statement]:
    """What the sentence says of the link between the actions."""
    text = sentence.text
    if words.PHRASES["anyway"].search(text) and not words.MODAL & set(sentence.words):
        yield Statement(YES, Force.LEANING)
    for role, pole in (("independent", YES), ("dependent", NO)):
        for found in words.PHRASES[role].finditer(text):
            before = text[: found.start()].split()[-_SUBJECT:]
            negated = bool({"not", "no", "never", "nor", "neither", "nothing", "without"} & set(before))
            yield Statement(OPPOSITE[pole] if negated else pole, Force.LEANING)
