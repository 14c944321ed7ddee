"""Rules about texts that models write: when two are equal, what one holds, and whether an option says which it is."""

from __future__ import annotations

import re
import unicodedata

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
    places = range(len(whole) - len(inside) + 1) if inside else ()
    return any(whole[place : place + len(inside)] == inside for place in places)


def is_marked(text: str) -> bool:
    """Whether an option says of itself which it is: a letter before it, `correct answer`, `distractor`, a tick."""
    return _MARK.search(unicodedata.normalize("NFKC", text)) is not None
