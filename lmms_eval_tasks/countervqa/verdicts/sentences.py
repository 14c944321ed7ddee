"""Sentences of a plain text as the reader of verdicts meets them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from lmms_eval_tasks.utils.answers.tokens import tokenize

_SPELLED_OUT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:can't|cannot|cant)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(would|could|should|does|did|do|is|was|were|are|has|have|had|might|must)n'?t\b"), r"\1 not"),
    (re.compile(r"\b(it|he|she|they|we|you|i|that|there|who)'d\b"), r"\1 would"),
    (re.compile(r"\b(it|he|she|they|we|you|that|there)'ll\b"), r"\1 will"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\b(it|that|he|she|there|what)'s\b"), r"\1 is"),
    # What is beyond doubt is not in doubt.
    (re.compile(r"\b(?:there is |i have |have )?(?:no|little|without a|without any) (?:doubt|question)\b"), " "),
    (re.compile(r"\b(?:wouldve|would've|would of)\b"), "would have"),
    (re.compile(r"\b(?:couldve|could've)\b"), "could have"),
)
# A full stop ends a sentence before white space or the end, so that "2.5" and "e.g." do not; marks of other scripts
# always do.
_END = re.compile(r"\n+|(?<=[.!?;…])[\"')\]]{0,3}(?:\s+|\Z)|(?<=[。！？；।۔])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|mr|mrs|dr|no)|^\W{0,3}\d{1,2})\.$")
QUOTES = frozenset("\"'“”‘’«»")


def is_mark(word: str) -> bool:
    """Whether a token is a mark and no word; the signs that answer for themselves (✓) are words."""
    return bool(word) and not word[0].isalnum() and unicodedata.category(word[0]) != "So"


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and marks in lower case with contractions spelled out, and its place.

    Attributes:
        words: Words and marks in order.
        line: Number of the line that it stands in.
        alone: Whether it is all of that line.
    """

    words: tuple[str, ...]
    line: int
    alone: bool

    @cached_property
    def text(self) -> str:
        """Its words without marks, single spaces between them."""
        return " ".join(word for word in self.words if not is_mark(word))

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return bool({"?", "؟"} & set(self.words[-2:]))

    def word(self, at: int) -> str:
        """The word at a place; empty beyond either end."""
        return self.words[at] if 0 <= at < len(self.words) else ""


def split_sentences(plain: str) -> list[Sentence]:
    """The sentences of a plain text in order; time is linear in its length."""
    text = plain.casefold()
    for pattern, replacement in _SPELLED_OUT:
        text = pattern.sub(replacement, text)
    sentences = []
    for number, line in enumerate(text.split("\n")):
        parts = _parts(line)
        sentences += [Sentence(words, number, len(parts) == 1) for words in parts]
    return sentences


def _parts(line: str) -> list[tuple[str, ...]]:
    parts: list[tuple[str, ...]] = []
    start = 0
    for end in (*(match.end() for match in _END.finditer(line)), len(line)):
        piece = line[start:end].strip()
        if _ABBREVIATION.search(piece[-8:]) and end < len(line):
            continue
        start = end
        words = tuple(token.word for token in tokenize(piece))
        if any(not is_mark(word) for word in words):
            parts.append(words)
    return parts
