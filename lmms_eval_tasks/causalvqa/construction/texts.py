"""Rules about texts of questions and options: what they may hold, when two say the same, what gives a key away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

LONGEST_OPTION = 300
LONGEST_QUESTION = 600
_ARTICLES = {"a", "an", "the"}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LABEL = re.compile(r"(?:\(?[A-Ea-e1-9]\)|[A-Ea-e1-9][.:])\s")
_ROLE = r"(?:the\s+)?(?:(?:right|wrong) )?(?:answer|option|choice|key)|true|false|wrong|distractor"
_MARKS = (
    r"[(\[{<][^)\]}>]*\b(?:in)?correct\b",
    rf"[(\[{{<]\s*(?:{_ROLE})\s*[)\]}}>]",
    r"\b(?:correct|right|wrong) (?:answer|option|choice)\b",
    r"[-–—:]\s*(?:in)?correct\W*$",
    r"[✓✔✗✘☑☒]|\*$",
)
_MARK = re.compile("|".join(_MARKS), re.IGNORECASE)

EQUAL_TO_ANSWER = "a distractor is the answer itself"
EQUAL = "two distractors are equal"
MARKED = "an option is marked as right or wrong"
LEAKED = "the question gives the answer away"


@dataclass(frozen=True)
class Fault:
    """What is wrong with a text.

    Attributes:
        reason: In a phrase that every such fault has.
        detail: In a sentence that names the text.
    """

    reason: str
    detail: str


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text without articles, case, punctuation and forms of letters."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))
    return tuple(word for word in words if word not in _ARTICLES)


def gives_away(question: str, answer: str, wrong: Sequence[str]) -> bool:
    """Whether a question holds the answer's words, and those of no wrong answer: a choice that it names is none."""
    return _holds(question, answer) and not any(_holds(question, other) for other in wrong)


def question_faults(question: str, answer: str, wrong: Sequence[str]) -> list[Fault]:
    """What of a question gives its answer away."""
    faults = [Fault(LEAKED, f"“{question}” holds “{answer}”.")] if gives_away(question, answer, wrong) else []
    return [*faults, *_marked([question, answer])]


def option_faults(answer: str, distractors: Sequence[str]) -> list[Fault]:
    """What is wrong with distractors by themselves: equal ones, and one that is marked."""
    same = [text for text in distractors if words_of(text) == words_of(answer)]
    equal = [(one, other) for one, other in combinations(distractors, 2) if words_of(one) == words_of(other)]
    return [
        *(Fault(EQUAL_TO_ANSWER, f"“{text}” is the answer.") for text in same),
        *(Fault(EQUAL, f"“{one}” and “{other}” are equal.") for one, other in equal),
        *_marked(distractors),
    ]


def _marked(texts: Sequence[str]) -> list[Fault]:
    return [Fault(MARKED, f"“{text}” says whether it is right.") for text in texts if _MARK.search(text)]


def _holds(text: str, part: str) -> bool:
    inside, whole = words_of(part), words_of(text)
    places = range(len(whole) - len(inside) + 1) if inside else ()
    return any(whole[place : place + len(inside)] == inside for place in places)


def _option(text: str) -> str:
    return _text(text, LONGEST_OPTION, bool(words_of(text)) and "|" not in text and not _LABEL.match(text))


def _question(text: str) -> str:
    return _text(text, LONGEST_QUESTION, text.strip().endswith("?"))


def _text(text: str, longest: int, usable: bool) -> str:
    text = text.strip()
    if not (usable and 0 < len(text) <= longest and text.isprintable()):
        raise PydanticCustomError("text", "not a text as it was asked for")
    return text


OptionText = Annotated[str, AfterValidator(_option)]
"""An option on one line, without a number before it and without ``|``, which parts options in the release."""
QuestionText = Annotated[str, AfterValidator(_question)]
"""A question on one line."""
