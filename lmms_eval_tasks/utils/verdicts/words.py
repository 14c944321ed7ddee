"""The words and patterns by which a verdict is read, from `words.json`.

Each role is one set of all languages' words, under its name in capitals. Phrases, whose words `words.json` joins with
"_", stand apart: `PHRASES` has one pattern per role, for sentences that are words with single spaces between them.
"""

from __future__ import annotations

import re
from pathlib import Path

from lmms_eval_tasks.utils.answers.words import load_words

_WORDS, PATTERNS = load_words(Path(__file__).with_name("words.json"))
"""`PATTERNS`: statements of other languages by what they mean; those of ``no_then`` count where none of the others is
found."""
globals().update({role.upper(): frozenset(w for w in words if "_" not in w) for role, words in _WORDS.items()})


def __getattr__(name: str) -> frozenset[str]:
    """Declare the sets to type checkers; at run time only a name that is no role gets here."""
    raise AttributeError(f"Expected a role of words.json but got {name}")


def _phrases(words: frozenset[str]) -> re.Pattern[str]:
    """A pattern of a role's words and phrases, the longest first."""
    choices = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("(?<![^ ])(?:" + "|".join(re.escape(word).replace("_", " ") for word in choices) + ")(?![^ ])")


PHRASES = {role: _phrases(words) for role, words in _WORDS.items() if words}

ANY_PATTERN = re.compile("|".join(f"(?:{one.pattern})" for patterns in PATTERNS.values() for one in patterns))
"""Matches wherever one of them does: most sentences have none, which one search tells."""
