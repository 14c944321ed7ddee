"""Words and marks of a plain text, as the reader of option letters needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_LATIN = "A-Za-z0-9\u00aa-\u024f\u0370-\u052f"
_INDIC = "\u0900-\u0963\u0966-\u109f"
_ABBREVIATION = r"(?<![A-Za-z])(?:[A-Za-z]\.(?:[a-z]\.){0,8}[a-z](?![A-Za-z])\.?|(?:[A-Z]\.){2,9})"
_LATIN_WORD = rf"[{_LATIN}]+(?:['\-°][{_LATIN}]+)*(?:'|\++(?![A-Za-z]))?"
_OTHER_WORD = rf"(?:[^\W0-9_{_LATIN}]|[{_INDIC}])+"
_TOKEN = re.compile(rf"\n|\.\.+|{_ABBREVIATION}|{_LATIN_WORD}|{_OTHER_WORD}|[^\s]")
_ELISION = re.compile(r"(?:l|d|j|qu|dell|all)'(?=[a-z]{3})")

STOPS = frozenset({"\n", ".", "!", "?", "。", "।", "۔", "…", ";", ".."})
PAUSES = STOPS | {","}
OPENERS = frozenset("\"'([<{«「『【〈《|>*-–—→=:")
CLOSERS = frozenset("\"')]>}»」』】〉》*|")
# Behind a letter they make it the label of what follows: "A) …", "A: …".
LABELLING = frozenset(".):-–—]|、→(")
# Letters that are words of some language: the article "a", Spanish "y", Portuguese "o"…
ARTICLE_LIKE = frozenset("aioeyu")


class Token(NamedTuple):
    """A word, mark or line end: `raw` as written, `word` for look-ups, and its place in the text."""

    raw: str
    word: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Split a plain text into words, marks and line ends; "3-D", "A-E", "I'd" and "e.g." stay whole."""
    tokens = []
    for match in _TOKEN.finditer(text):
        raw = match.group()
        if len(raw) > 1:
            raw = raw.removesuffix("'")
        word = ".." if raw.startswith("..") else raw.casefold()
        if "'" in word:
            word = _ELISION.sub("", word)
        tokens.append(Token(raw, word, match.start(), match.end()))
    return tokens


def is_letter(token: Token) -> bool:
    """Whether the token is a single Latin letter."""
    return len(token.raw) == 1 and token.raw.isascii() and token.raw.isalpha()


def until(words: Iterable[str], ends: frozenset[str]) -> list[str]:
    """Return the words before the first of `ends`."""
    before = []
    for word in words:
        if word in ends:
            break
        before.append(word)
    return before
