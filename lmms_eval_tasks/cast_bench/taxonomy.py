"""CaST-Bench's types of questions and kinds of options, as releases spell them.

Source: paper, supplement, Prompt 6 (types) and section 10.5 (six options: the answer, a distractor made from the text,
one made from the video, and a near-miss of each of the three).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from lmms_eval_tasks.cast_bench.card import CATEGORIES, NEAR_MISS, OTHER

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\s*(\d\.\d)\b")
_FILLERS_OF_KINDS = frozenset({"of", "the", "based", "distractor", "option", "type", "correct", "right", "true"})
_KINDS = {
    frozenset({"text"}): "text-based",
    frozenset({"video"}): "video-based",
    frozenset({"near", "miss"}): NEAR_MISS,
    frozenset({"near", "miss", "answer"}): f"{NEAR_MISS}-of-answer",
    frozenset({"near", "miss", "text"}): f"{NEAR_MISS}-of-text-based",
    frozenset({"near", "miss", "video"}): f"{NEAR_MISS}-of-video-based",
}


@dataclass(frozen=True)
class QuestionType:
    """A type of question: its subtype and the category above it."""

    subtype: str
    category: str


UNKNOWN = QuestionType(OTHER, OTHER)
"""A type that is none of the paper's."""


def _words(text: str, left_out: Iterable[str]) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - frozenset(left_out)


@cache
def _known_types() -> tuple[Mapping[frozenset[str], QuestionType], Mapping[str, QuestionType], tuple[str, ...]]:
    """Types by the words of their spellings and by their number, and words that say nothing."""
    text = (resources.files("lmms_eval_tasks.cast_bench") / "question_types.json").read_text(encoding="utf-8")
    content = json.loads(text)
    fillers = tuple(content["fillers"])
    by_words: dict[frozenset[str], QuestionType] = {}
    by_number: dict[str, QuestionType] = {}
    for subtype, entry in content["subtypes"].items():
        if entry["category"] not in CATEGORIES:
            raise ValueError(f"Expected categories {', '.join(CATEGORIES)} in question_types.json.")
        kind = QuestionType(subtype, entry["category"])
        by_number[entry["number"]] = kind
        by_words |= {_words(spelling, fillers): kind for spelling in entry["spellings"]}
    return by_words, by_number, fillers


@cache
def type_names() -> tuple[str, ...]:
    """The sixteen types as the paper spells them, in its order."""
    text = (resources.files("lmms_eval_tasks.cast_bench") / "question_types.json").read_text(encoding="utf-8")
    return tuple(entry["spellings"][0] for entry in json.loads(text)["subtypes"].values())


def type_definitions() -> dict[str, str]:
    """Each of the sixteen types to what its questions ask, in our words."""
    text = (resources.files("lmms_eval_tasks.cast_bench") / "question_types.json").read_text(encoding="utf-8")
    return {entry["spellings"][0]: entry["asks"] for entry in json.loads(text)["subtypes"].values()}


def read_type(text: str) -> QuestionType:
    """The type that a release's text names, by its words or, where it has no words, by its number; else `UNKNOWN`."""
    by_words, by_number, fillers = _known_types()
    words, number = _words(text, fillers), _NUMBER.match(text)
    if words or number is None:
        return by_words.get(words, UNKNOWN)
    return by_number.get(number[1], UNKNOWN)


def read_option_kind(text: str) -> str | None:
    """The kind of wrong option, one of the card's `OPTION_KINDS`, that a release's text names; None for any other."""
    return _KINDS.get(_words(text, _FILLERS_OF_KINDS))
