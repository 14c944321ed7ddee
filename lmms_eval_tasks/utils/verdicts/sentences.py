"""Sentences of a plain text as the reader of verdicts meets them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from lmms_eval_tasks.utils.answers.contractions import spell_out
from lmms_eval_tasks.utils.answers.tokens import tokenize

CHOICE = "yesorno"
"""Stands in a sentence for "yes or no", which names both and chooses none."""
_OR = r"\W{0,3}(?:or|and|nor|vs\.?|[/|])(?: a)?\W{0,3}\b"
_REPLACED = (
    # What is beyond doubt is not in doubt.
    (re.compile(r"\b(?:there is |i have |have )?(?:no|little|without a|without any) (?:doubt|question)\b"), " "),
    (re.compile(r"\bno longer\b"), "not"),
    (
        re.compile(r"\b(?:out of|beyond)(?: (?:her|his|their|its|the|anyone's))? reach\b"),
        "unreachable",
    ),
    (re.compile(r"\b(?:with)?in(?: (?:her|his|their|its))? reach\b"), "accessible"),
    (re.compile(r"\by[ .-]e[ .-]s\b"), "yes"),
    (re.compile(r"\bn[ .-]o\b"), "no"),
    (re.compile(rf"\b(?:yes\b{_OR}no|no\b{_OR}yes)\b|(?<=options: )yes, no\b|(?<=answers: )yes, no\b"), CHOICE),
)
# A full stop ends a sentence before white space or the end, so that "2.5" and "e.g." do not, and not in "No. 2"; marks
# of other scripts always do.
_END = re.compile(r"\n+|(?<=[.!?;…])[\"')\]]{0,3}(?:\s+(?!\d)|\Z)|(?<=[。！？；।۔])")
_HEAD, _TAIL = 300, 900
"""The most sentences of a text and words of a sentence that are read, of the beginning and of the end: more of them in
an answer of bounded length are a loop."""
_SHORT_WORD = 3
_OUTCOME = re.compile(
    r"(?:(?:and|but|so|then|yet) )?(?:it|that|this|nothing|the (?:outcome|event|result|second(?: \w+)?)) "
    r"(?:[\w']+ ){0,4}?(?:happens?|happened|occurs?|occurred|takes? place|possible|impossible|prevented|come about)"
    r"(?: [\w']+){0,3}"
)
_Part = TypeVar("_Part")


def is_mark(word: str) -> bool:
    """Whether a token is a mark and no word; the signs that answer for themselves (✓) are words."""
    return bool(word) and not word[0].isalnum() and unicodedata.category(word[0]) != "So"


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and marks in lower case with contractions spelled out."""

    words: tuple[str, ...]
    asked: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """Its words and marks with single spaces between them."""
        return " ".join(self.words)

    @cached_property
    def plain(self) -> str:
        """Its words without marks, with single spaces between them."""
        return " ".join(word for word in self.words if not is_mark(word))

    @cached_property
    def known(self) -> frozenset[str]:
        """Its words and marks without their order."""
        return frozenset(self.words)

    @property
    def of_outcome(self) -> bool:
        """Whether it is short and says nothing but whether the outcome comes: "it would still happen"."""
        return _OUTCOME.fullmatch(self.plain) is not None

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return bool({"?", "؟"} & {*self.words[-2:]})


def stem(word: str) -> str:
    """The first letters of a word, which its forms share: "missed" and "miss"."""
    return word[:4]


def asked_words(question: str) -> frozenset[str]:
    """Stems of the words with which a question "had A not happened, would B still have?" asks about B."""
    asked = re.split(r"\bwould\b", question.casefold())[-1]
    return frozenset(stem(word) for word in asked.split() if word.isalpha() and len(word) > _SHORT_WORD)


def split_sentences(plain: str, asked: frozenset[str] = frozenset()) -> list[Sentence]:
    """The sentences of a plain text in order, for a question about `asked`; time is linear in its length."""
    text = spell_out(plain.casefold())
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    parts = (tuple(_both_ends([token.word for token in tokenize(part)])) for part in _END.split(text))
    return [Sentence(words, asked) for words in _both_ends([one for one in parts if not all(map(is_mark, one))])]


def _both_ends(parts: list[_Part]) -> list[_Part]:
    return parts if len(parts) <= _HEAD + _TAIL else parts[:_HEAD] + parts[-_TAIL:]
