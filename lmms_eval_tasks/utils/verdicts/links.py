"""What a sentence says of the link between the actions: "B requires A", "it makes no difference", "in any case"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lmms_eval_tasks.utils.verdicts import words
from lmms_eval_tasks.utils.verdicts.sentences import Sentence
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, YES, Assertion, Force

_REACH = 4
_BEFORE = 12
_ONLY = re.compile(
    r"\bonly (?:\w+ ){0,5}(?:because|due|thanks|after|since|when|once|if)\b|\bonly with\b"
    r"|\b(?:could|can|would) only (?:\w+ ){1,6}(?:with|by)\b"
)
_ANYWAY = words.STILL - {"still"}
DENYING = frozenset({"not", "no", "never", "nor", "neither", "nothing", "none", "without", "hardly"})


def in_any_case(sentence: Sentence) -> bool:
    """Whether the sentence says that its outcome comes in any case; it is looked up once for all its verbs."""
    return bool(_ANYWAY & sentence.known) or _has_phrase(sentence.text, "anyway")


@lru_cache(maxsize=8)
def _has_phrase(text: str, role: str) -> bool:
    return words.PHRASES[role].search(text) is not None


def read_links(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says of the link between the actions."""
    text = sentence.text
    if _ONLY.search(text):
        yield Assertion(NO, Force.LEANING)
    if not words.MODAL & sentence.known:
        if in_any_case(sentence):
            yield Assertion(YES, Force.LEANING)
        yield from _effects(sentence)
    for role, pole in (("independent", YES), ("dependent", NO)):
        for phrase in words.PHRASES[role].finditer(text):
            before = text[: phrase.start()].split()[-_REACH:]
            # A phrase with a negation of its own is not turned round by another: "not doing it changes nothing".
            opening = {sentence.word(0)} & words.NEGATIVE_SUBJECT if "," not in sentence.known else frozenset()
            denied = not DENYING & set(phrase.group().split()) and bool(DENYING & set(before) or opening)
            yield Assertion(OPPOSITE[pole] if denied else pole, Force.LEANING)


def _effects(sentence: Sentence) -> Iterator[Assertion]:
    """What an absence does to the outcome: "it does not affect B", "nothing prevents it", "it has no consequence"."""
    for at, word in enumerate(sentence.words):
        before = set(sentence.words[max(0, at - 3) : at])
        if sentence.word(0) in words.NEGATIVE_SUBJECT and at < _BEFORE:
            before |= {sentence.word(0)}
        stem = word.removesuffix("s")
        if word in words.EFFECT_NOUN and "no" in before:
            yield Assertion(YES, Force.LEANING)
        elif (stem in words.EFFECT or word in words.EFFECT) and not {"had", "if"} & set(sentence.words[:at]):
            if DENYING & before:
                yield Assertion(YES, Force.LEANING)
            elif stem in words.PREVENTING or (word == "matters" and not {"what", "but"} & sentence.known):
                yield Assertion(NO, Force.LEANING)
