"""Yes and no as words of an answer: behind a label, at the start of a sentence, as what is said or concluded."""

from __future__ import annotations

import re
from dataclasses import replace

from lmms_eval_tasks.utils.verdicts import words
from lmms_eval_tasks.utils.verdicts.sentences import QUOTES, Sentence, is_mark
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, YES, Assertion, Force

_LABEL_REACH = 14
_LEAD_REACH = 14
_NEAR = 4
_SHORT = 4
_CELLS = 2
"""Marks between the cells of a table's row, whose yes or no is about that row."""
_OFFERED = frozenset({"answers", "options", "choices", "possible", "either"})
"""Before a list of both: "possible answers: yes, no"."""
_STRETCHED = {YES: re.compile(r"y+e+s+|ye+a+h+|y+e+p+"), NO: re.compile(r"n+o+|n+o+p+e+|n+a+h+")}
_LINKS = frozenset({":", "=", "is", "be", "→", "-", "–", "—", "|", "was"})
_WRONG = frozenset({"wrong", "incorrect", "false", "mistaken", "not"})
_CHANGING = frozenset({"change", "changing", "changed", "revise", "switch", "switching", "correct", "amend"})
"""Before a label: "I change my answer to no"."""
_ELLIPSES = frozenset({"it would", "he would", "she would", "they would", "it could", "it will"})


def read_pole(sentence: Sentence, at_an_end: bool) -> Assertion | None:
    """The yes or no of a sentence by its words alone; None where it has none.

    Args:
        sentence: The sentence, without choices (`without_choices`).
        at_an_end: Whether it is the first or the last of its text.
    """
    if labelled := _labelled(sentence):
        return Assertion(labelled, Force.LABEL)
    if sentence.words.count("|") >= _CELLS:
        return None
    lead = _leading(sentence)
    if lead and not (sentence.asks and len(sentence.words) <= 2):
        alone = sentence.alone and at_an_end and len(sentence.words) <= _SHORT
        return Assertion(lead, Force.LABEL if alone else Force.LEAD, opens=True)
    if not sentence.asks and (pole := _said(sentence) or _last(sentence)):
        return Assertion(pole, Force.LEAD)
    return None


def without_choices(sentence: Sentence) -> Sentence:
    """The sentence without "yes or no", which names both and chooses none."""
    kept: list[str] = []
    at = 0
    while at < len(sentence.words):
        gaps = (2, 3, 4) if _pole(sentence.words[at]) else ()
        step = next((gap for gap in gaps if _is_choice(sentence, at, gap)), 0)
        kept += [] if step else [sentence.words[at]]
        at += step + 1
    return replace(sentence, words=tuple(kept)) if len(kept) < len(sentence.words) else sentence


def names_both(sentence: Sentence) -> bool:
    """Whether a sentence goes on from one verdict to the other as a choice: "yes, it could, or no, it might not"."""
    poles = {YES: False, NO: False}
    for at, word in enumerate(sentence.words):
        supposed = sentence.word(at + 1) in ("if", "otherwise")
        if word in ("yes", "no") and (supposed or _ends(sentence, at + 1)):
            if (supposed or sentence.word(at - 1) == "or") and poles[OPPOSITE[word]]:
                return True
            poles[word] = True
    return False


def _is_choice(sentence: Sentence, at: int, gap: int) -> bool:
    poles = {_pole(sentence.word(at)), _pole(sentence.word(at + gap))}
    between = {word for word in sentence.words[at + 1 : at + gap] if word not in QUOTES}
    between -= {"."} if "vs" in between else set()
    listed = {","} if _OFFERED & {*sentence.words[max(0, at - _NEAR) : at]} else set()
    return poles == {YES, NO} and bool(between) and between <= {"or", "/", "and", "|", "nor", "vs", "a", *listed}


def _pole(word: str) -> str | None:
    for pole, role in ((YES, words.YES), (NO, words.NO)):
        if word in role or _STRETCHED[pole].fullmatch(word):
            return pole
    return None


def _alone(word: str) -> str | None:
    return YES if word in words.YES_ALONE else NO if word in words.NO_ALONE else None


def _ends(sentence: Sentence, at: int) -> bool:
    """Whether there is no word at a place: a mark, or the sentence's end."""
    return not sentence.word(at) or is_mark(sentence.word(at))


def _judged(sentence: Sentence, at: int, pole: str) -> str:
    """The pole at a place, or the opposite where the words around it turn it round: "not yes", "yes is wrong"."""
    behind = sentence.words[at + 1 : at + 5]
    wrong = behind[:1] in (("is",), ("would",), ("was",)) and bool(_WRONG & set(behind))
    before = next((word for word in reversed(sentence.words[max(0, at - 3) : at]) if not is_mark(word)), "")
    return OPPOSITE[pole] if wrong or before in ("not", "never") else pole


def _labelled(sentence: Sentence) -> str | None:
    """The verdict behind a label: "the answer is a clear no", "Answer: yes"."""
    for at, word in enumerate(sentence.words):
        if word not in words.LABEL and not (at == 0 and word == "a" and sentence.word(1) == ":"):
            continue
        linked = bool(_CHANGING & {*sentence.words[max(0, at - 2) : at]})
        for step in range(at + 1, at + _LABEL_REACH):
            following = sentence.word(step)
            linked = linked or following in _LINKS or not following.isascii()
            pole = _pole(following) or (_alone(following) if linked and _ends(sentence, step + 1) else None)
            if pole:
                return _judged(sentence, step, pole) if linked and not _is_noun(sentence, step) else None
            filler = following in words.LABEL_FILLER or following in words.LABEL or following == "not"
            if not following or not (filler or is_mark(following)):
                break
    return None


def _is_noun(sentence: Sentence, at: int) -> bool:
    """Whether a no stands before its noun: "the answer is: no effect"."""
    following = sentence.word(at + 1)
    return sentence.word(at) == "no" and following.isalpha() and following not in words.NO_FOLLOWER


def _leading(sentence: Sentence, depth: int = 0) -> str | None:
    """The verdict with which a sentence opens."""
    text = sentence.text.removeprefix("well ").removeprefix("so ")
    if words.PHRASES["no_opening"].match(text):
        return NO
    for phrase_pole, role in ((YES, "yes_phrase"), (NO, "no_phrase")):
        phrase = words.PHRASES[role].match(text)
        if phrase and (len(phrase.group()) == len(text) or _is_marked(sentence, text[: phrase.end()])):
            return phrase_pole
    start = 2 if sentence.word(1) == ":" and not (_pole(sentence.word(0)) or _alone(sentence.word(0))) else 0
    for at in range(start, min(start + _LEAD_REACH, len(sentence.words))):
        word = sentence.words[at]
        ends = _ends(sentence, at + 1)
        pole = _pole(word) or (_alone(word) if ends and sentence.word(at + 1) not in ("-", "/") else None)
        if pole and (ends or _opens(sentence, at)):
            revised = words.PHRASES["revise"].match(
                " ".join(w for w in sentence.words[at + 1 : at + 7] if not is_mark(w))
            )
            if revised and depth == 0:
                return _leading(replace(sentence, words=sentence.words[at + 1 :]), 1)
            return None if revised or sentence.word(at - 1) == "no" else _judged(sentence, at, pole)
        if word in ("not", "so") and at > start and _ends(sentence, at + 1):
            return NO if word == "not" else YES if sentence.word(at - 1) in words.SAY else None
        if not (word in words.LEAD_FILLER or is_mark(word) or word.isdigit()):
            return _joined(word) if at == start else None
    return None


def _is_marked(sentence: Sentence, phrase: str) -> bool:
    """Whether a mark stands behind a leading phrase that is a verdict without more: "of course, …"."""
    count = len(phrase.split())
    for at, word in enumerate(sentence.words):
        count -= not is_mark(word)
        if not count:
            return _ends(sentence, at + 1) and phrase not in _ELLIPSES
    return False


def _opens(sentence: Sentence, at: int) -> bool:
    """Whether a yes or no opens its sentence without a mark behind it: "No it would not"."""
    word, following = sentence.word(at), sentence.word(at + 1)
    pole = _pole(word)
    if _pole(following) == pole or (word != "no" and _STRETCHED[pole or YES].fullmatch(word)):
        return True
    return (word == "no" and following in words.NO_FOLLOWER) or (following in ("is", "was") and pole is not None)


def _joined(word: str) -> str | None:
    """The verdict with which a word of a script without spaces opens: "是的因为…"."""
    if word.isascii():
        return None
    for pole, prefixes in ((YES, ("是的", "会的", "會的", "對的", "对的")), (NO, ("不会", "不會", "不是", "不能"))):
        if word.startswith(prefixes) and not any(pattern.match(word) for pattern in words.PATTERNS["yes"]):
            return pole
    return None


def _said(sentence: Sentence) -> str | None:
    """The verdict that a verb of saying or a copula gives: "I would say no", "it's a yes", "so no"."""
    for at, word in enumerate(sentence.words):
        if word not in ("yes", "no") or not (_ends(sentence, at + 1) or sentence.word(at + 1) in words.SAID_FOLLOWER):
            continue
        before = [one for one in sentence.words[max(0, at - _NEAR) : at] if one not in QUOTES]
        verb = next((one for one in reversed(before) if one not in words.LABEL_FILLER or one in ("be", "is")), "")
        article = bool({"a", "clear", "definite", "firm", "resounding", "strong", "likely"} & set(before[-2:]))
        if verb in words.SAY or verb in words.CONCLUDE or verb in words.NO or (verb in ("is", "be") and article):
            pole = _pole(word)
            return None if pole is None else _judged(sentence, at, pole)
    return None


def _last(sentence: Sentence) -> str | None:
    """The verdict that ends a sentence behind a mark: "…, so it cannot: no"."""
    places = [at for at, word in enumerate(sentence.words) if not is_mark(word)]
    if len(places) < 2:
        return None
    at = places[-1]
    before = sentence.word(at - 1)
    return _pole(sentence.word(at)) if is_mark(before) or before in ("but", "→") else None
