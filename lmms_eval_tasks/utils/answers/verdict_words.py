"""The words and patterns by which a verdict is read, from `verdict_words.json`."""

from __future__ import annotations

import re
from pathlib import Path

from lmms_eval_tasks.utils.answers.words import load_words

_WORDS, PATTERNS = load_words(Path(__file__).with_name("verdict_words.json"))
"""`PATTERNS`: statements of other languages by what they mean; those of ``no_then`` count where none of the others is
found."""
globals().update({role.upper(): frozenset(w for w in words if "_" not in w) for role, words in _WORDS.items()})


def __getattr__(name: str) -> frozenset[str]:
    """Declare the sets to type checkers; at run time only a name that is no role gets here."""
    raise AttributeError(f"Expected a role of verdict_words.json but got {name}")


def any_of(*roles: str) -> str:
    """A regular expression for the words and phrases of some roles, among words with single spaces between them."""
    words = sorted(frozenset().union(*(_WORDS[role] for role in roles)), key=lambda word: (-len(word), word))
    return "(?<![^ ])(?:" + "|".join(re.escape(word).replace("_", " ") for word in words) + ")(?![^ ])"


PHRASES = {role: re.compile(any_of(role)) for role in _WORDS}
