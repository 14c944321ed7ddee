"""Texts written by models: times of a clip, equality, marks of an option, and rewriting until no fault is left."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from lmms_eval_tasks.construct.engine.steps import Removed
from lmms_eval_tasks.utils.answers.evidence_reading import is_clock, official_seconds


def read_span(start: str, end: str, last: int) -> tuple[int, int] | None:
    """Return the seconds of two times ``MM:SS`` in their order and within a clip; None for any others."""
    first, until = (official_seconds(text) if is_clock(text) else None for text in (start, end))
    return None if first is None or until is None or not first <= until <= last else (first, until)


_ARTICLES = frozenset({"a", "an", "the"})
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_ROLE = r"(?:the\s+)?(?:(?:right|wrong) )?(?:answer|option|choice|key)|true|false|wrong|distractor"
_MARKS = (
    r"^\s*\(?[A-G][).:]\s",
    r"[(\[{<][^()\[\]{}<>]*\b(?:in)?correct\b",
    rf"[(\[{{<]\s*(?:{_ROLE})\s*[)\]}}>]",
    r"\b(?:in)?correct (?:answer|option|choice)\b",
    r"\b(?:right|wrong) (?:answer|option|choice)\b",
    r"\banswer\s*:",
    r"\bdistractor\b",
    r"\bnear[- ]miss\b",
    r"[-–—:]\s*(?:in)?correct\W*$",
    r"[✓✔✗✘☑☒]|\*$",
)
_MARK = re.compile("|".join(_MARKS), re.IGNORECASE)


def bare_words(text: str) -> tuple[str, ...]:
    """The words of a text without articles, case, punctuation and forms of letters; two such texts are equal."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return tuple(word for word in _WORD.findall(folded) if word not in _ARTICLES)


def holds_text(text: str, part: str) -> bool:
    """Whether a text has the words of another one after the other; no text has those of an empty one."""
    whole, inside = bare_words(text), bare_words(part)
    return bool(inside) and any(whole[place : place + len(inside)] == inside for place in range(len(whole)))


def is_marked(text: str) -> bool:
    """Whether an option says of itself which it is: a letter before it, `correct answer`, `distractor`, a tick."""
    return _MARK.search(unicodedata.normalize("NFKC", text)) is not None


@dataclass(frozen=True)
class Fault:
    reason: str
    detail: str


Refused = Sequence[dict[str, Any]]
"""Texts that were written and not used, each with what was wrong with it."""
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class Unfit(Removed):
    """A text cannot be used; whoever writes the next one is shown it, and why."""

    def __init__(self, reason: str, detail: str = "", /, **shown: Any) -> None:
        super().__init__(reason, detail)
        self.shown = shown


def until_good(tries: int, write: Callable[[Refused], T]) -> T:
    """Return the first of so many texts that is not `Unfit`; with none, the row goes for the last one's fault."""
    refused: list[dict[str, Any]] = []
    while True:
        try:
            return write(tuple(refused))
        except Unfit as unfit:
            refused.append(unfit.shown)
            if len(refused) == tries:
                raise


def unless_faulty(text: M, faults: Sequence[Fault]) -> M:
    if faults:
        details = [fault.detail for fault in faults]
        raise Unfit(faults[0].reason, " ".join(details), **text.model_dump(mode="json"), why=details)
    return text
