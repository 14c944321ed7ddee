"""Sentences of a plain text as the reader of verdicts meets them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from lmms_eval_tasks.utils.answers.contractions import spell_out
from lmms_eval_tasks.utils.answers.tokens import tokenize

# What is beyond doubt is not in doubt.
_NO_DOUBT = re.compile(r"\b(?:there is |i have |have )?(?:no|little|without a|without any) (?:doubt|question)\b")
# A full stop ends a sentence before white space or the end, so that "2.5" and "e.g." do not; marks of other scripts
# always do.
_END = re.compile(r"\n+|(?<=[.!?;…])[\"')\]]{0,3}(?:\s+|\Z)|(?<=[。！？；।۔])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|mr|mrs|dr)|^\W{0,3}\d{1,2})\.$")
_NUMBER = re.compile(r"\bno\.$")
"""Short for "number" where a digit follows, else an answer."""
_SHORT_WORD = 3
_HEAD, _TAIL = 300, 900
"""The most sentences of a text and words of a sentence that are read, of the beginning and of the end: more of them in
an answer of bounded length are a loop."""
Part = TypeVar("Part")
QUOTES = frozenset("\"'“”‘’«»")


def is_mark(word: str) -> bool:
    """Whether a token is a mark and no word; the signs that answer for themselves (✓) are words."""
    return bool(word) and not word[0].isalnum() and unicodedata.category(word[0]) != "So"


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and marks in lower case with contractions spelled out, and its place.

    Attributes:
        words: Words and marks in order.
        alone: Whether it is all of its line.
        asked: Stems of the words of the outcome that is asked about (`stem`); empty where the question is not known.
    """

    words: tuple[str, ...]
    alone: bool
    asked: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """Its words without marks, single spaces between them."""
        return " ".join(word for word in self.words if not is_mark(word))

    @cached_property
    def known(self) -> frozenset[str]:
        """Its words and marks without their order."""
        return frozenset(self.words)

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return bool({"?", "؟"} & set(self.words[-2:]))

    def word(self, at: int) -> str:
        """The word at a place; empty beyond either end."""
        return self.words[at] if 0 <= at < len(self.words) else ""


def stem(word: str) -> str:
    """The first letters of a word, which its forms share: "missed" and "miss"."""
    return word[:4]


def outcome_words(question: str) -> frozenset[str]:
    """Stems of the words with which a question "had A not happened, would B still have?" asks about B."""
    asked = next((one for one in reversed(split_sentences(question)) if "would" in one.words), None)
    if asked is None:
        return frozenset()
    behind = asked.words[asked.words.index("would") + 1 :]
    return frozenset(stem(word) for word in behind if word.isalpha() and len(word) > _SHORT_WORD)


def split_sentences(plain: str, asked: frozenset[str] = frozenset()) -> list[Sentence]:
    """The sentences of a plain text in order, for a question about `asked`; time is linear in its length.

    Of a text of more sentences than anybody answers with, these are the first and the last ones; so are the words of a
    sentence.
    """
    text = _NO_DOUBT.sub(" ", spell_out(plain.casefold()))
    sentences: list[tuple[tuple[str, ...], bool]] = []
    for line in text.split("\n"):
        parts = _parts(line)
        sentences += [(words, len(parts) == 1) for words in parts]
    return [Sentence(*one, asked) for one in _both_ends(sentences)]


def _both_ends(parts: list[Part]) -> list[Part]:
    return parts if len(parts) <= _HEAD + _TAIL else parts[:_HEAD] + parts[-_TAIL:]


def _parts(line: str) -> list[tuple[str, ...]]:
    parts: list[tuple[str, ...]] = []
    start = 0
    for end in (*(match.end() for match in _END.finditer(line)), len(line)):
        piece = line[start:end].strip()
        short = _NUMBER if line[end : end + 1].isdigit() else None
        if end < len(line) and (_ABBREVIATION.search(piece[-8:]) or (short and short.search(piece[-8:]))):
            continue
        start = end
        words = tuple(_both_ends([token.word for token in tokenize(piece)]))
        if any(not is_mark(word) for word in words):
            parts.append(words)
    return parts
