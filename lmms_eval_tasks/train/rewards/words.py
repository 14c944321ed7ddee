"""The words by which reasoning is read, from `words.json`, and the stems that stand for the forms of a word."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
_IRREGULAR_FORMS = _DATA["irregular"].split()
_IRREGULAR = dict(zip(_IRREGULAR_FORMS[::2], _IRREGULAR_FORMS[1::2], strict=True))
_VOWEL = re.compile(r"[aeiouy]")
_TWICE = re.compile(r"([^\W\d_])\1")
_SHORTEST = 3
_SHORT = 2
_ROOT = 4
"""Letters that words share at least whose endings alone differ, and one more where an ending is short."""
_LONG_ENDINGS = frozenset(_DATA["derived_endings"]["long"].split()) | {""}
_SHORT_ENDINGS = frozenset(_DATA["derived_endings"]["short"].split())
_LONGEST_WORD = 40
"""A longer run of letters is no word, and is cut so that its stem takes no time."""


def _strip(word: str) -> str:
    for ending, least, put in (
        ("sses", 5, "ss"), ("ies", 5, "y"), ("ches", 6, "ch"), ("shes", 6, "sh"), ("xes", 5, "x"),
        ("zes", 5, "z"), ("oes", 5, "o"),
    ):  # fmt: skip
        if word.endswith(ending) and len(word) >= least:
            return word[: -len(ending)] + put
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _SHORTEST:
        return word[:-1]
    return word


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """What the forms of a word in lower case have in common: "cracks", "cracked", "cracking" are all "crack"."""
    word = word[:_LONGEST_WORD]
    word = _IRREGULAR.get(word, word)
    word = _strip(word)
    word = _IRREGULAR.get(word, word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORTEST and _VOWEL.search(root) and not word.endswith("eed"):
            word = root
            break
    if word.endswith(("tion", "sion")) and len(word) > 6:
        word = word[:-3]
    elif word.endswith("val") and len(word) > 5:
        word = word[:-2]
    elif word.endswith("ment") and len(word) > 7:
        word = word[:-4]
    elif word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("e") and len(word) > _SHORTEST:
        word = word[:-1]
    if len(word) > _SHORTEST and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > _SHORTEST else word


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


def phrases(role: str) -> tuple[tuple[str, ...], ...]:
    """The phrases of a role, each as its words."""
    return tuple(tuple(phrase.split()) for phrase in _DATA[role])


FUNCTION = frozenset(_DATA["function"].split())
_TALK = _stems(_DATA["talk"])
MODAL = frozenset(_DATA["modal"].split())
MUST = frozenset({"must", "has", "have", "had", "needs", "need"})
DENIAL = frozenset(_DATA["denial"].split())
STILL = frozenset(_DATA["still"].split())
HEDGE = frozenset(_DATA["hedge"].split())
JOINTS = frozenset(_DATA["joints"].split())
"""Articles, pronouns, auxiliary verbs and conjunctions, which stand beside any word."""
OPENS_SUBJECT = frozenset({"the", "a", "he", "she", "it", "they", "this", "his", "her", "their"})
PRONOUN = frozenset(_DATA["pronoun"].split())
FORWARD_VERBS = _stems(_DATA["forward_verbs"])
SHARED_VERBS = _stems(_DATA["shared_verbs"])
AFFECT_VERBS = _stems(_DATA["affect_verbs"])
CONTACT_VERBS = _stems(_DATA["contact_verbs"])
PHRASAL: dict[str, str] = _DATA["phrasal"]


@lru_cache(maxsize=1)
def _synonyms() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for group in _DATA["synonyms"]:
        alike = {stem(word) for word in group.split()}
        for word in alike:
            groups.setdefault(word, set()).update(alike)
    return {word: frozenset(alike) for word, alike in groups.items()}


def alike(stemmed: str) -> frozenset[str]:
    """The stems that may stand for a stem, itself among them."""
    return _synonyms().get(stemmed, frozenset((stemmed,)))


def derives(one: str, other: str) -> bool:
    """Whether two stems differ by an ending that makes a noun or adjective of a verb: "clearance", "collision"."""
    one, other = _TWICE.sub(r"\1", one), _TWICE.sub(r"\1", other)
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    endings = {one[same:], other[same:]}
    return (same >= _ROOT and endings <= _LONG_ENDINGS) or (same > _ROOT and endings <= _LONG_ENDINGS | _SHORT_ENDINGS)


def content_stem(word: str) -> str | None:
    """The stem of a word; None for one that only joins others."""
    return None if word in FUNCTION or len(word) < _SHORT or not word[0].isalpha() else stem(word)


def only_talks(stemmed: str) -> bool:
    """Whether a stem is of a word that speaks of causes, answers and the like, in most clips of no action."""
    return stemmed in _TALK
