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

from lmms_eval_tasks.build.engine.texts import bare_words, holds_text, is_marked

LONGEST_OPTION = 300
LONGEST_QUESTION = 600
_LABEL = re.compile(r"(?:\(?[A-Ea-e1-9]\)|[A-Ea-e1-9][.:])\s")

EQUAL_TO_ANSWER = "a distractor is the answer itself"
EQUAL = "two distractors are equal"
MARKED = "an option is marked as right or wrong"
LEAKED = "the question gives the answer away"
ONLY_YES_OR_NO = "the answer is only yes or no"
BINARY = (("yes",), ("no",))


@dataclass(frozen=True)
class Fault:
    """Fault of a text."""

    reason: str
    detail: str


def gives_away(question: str, answer: str, wrong: Sequence[str]) -> bool:
    """Whether a question holds the answer's words, and those of no wrong answer: a choice that it names is none."""
    return holds_text(question, answer) and not any(holds_text(question, other) for other in wrong)


def question_faults(question: str, answer: str, wrong: Sequence[str]) -> list[Fault]:
    """Return the faults of a question that gives its answer away, and of an answer that is only yes or no."""
    faults = [Fault(LEAKED, f"“{question}” holds “{answer}”.")] if gives_away(question, answer, wrong) else []
    if bare_words(answer) in BINARY:
        faults.append(Fault(ONLY_YES_OR_NO, f"“{answer}” does not say what happens."))
    return [*faults, *_marked([question, answer])]


def option_faults(answer: str, distractors: Sequence[str]) -> list[Fault]:
    """Return the faults of distractors by themselves: equal ones, and one that is marked."""
    same = [text for text in distractors if bare_words(text) == bare_words(answer)]
    equal = [(one, other) for one, other in combinations(distractors, 2) if bare_words(one) == bare_words(other)]
    return [
        *(Fault(EQUAL_TO_ANSWER, f"“{text}” is the answer.") for text in same),
        *(Fault(EQUAL, f"“{one}” and “{other}” are equal.") for one, other in equal),
        *_marked(distractors),
    ]


def _marked(texts: Sequence[str]) -> list[Fault]:
    return [Fault(MARKED, f"“{text}” says whether it is right.") for text in texts if is_marked(text)]


def _option(text: str) -> str:
    labelled = _LABEL.match(unicodedata.normalize("NFKC", text).strip())
    return _text(text, LONGEST_OPTION, bool(bare_words(text)) and "|" not in text and not labelled)


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
