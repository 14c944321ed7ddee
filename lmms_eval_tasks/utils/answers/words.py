"""Tokens of a plain text, and the words around option letters by their role, in the languages of models' answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lmms_eval_tasks.utils.answers.opening import fold

Words = dict[str, frozenset[str]]
"""Role to its words."""
Patterns = dict[str, tuple[re.Pattern[str], ...]]
"""What a whole statement means to its patterns."""


def load_words(path: Path) -> tuple[Words, Patterns]:
    """Return the words of each role, all languages together, and the patterns of a file that has some."""
    data = json.loads(path.read_text(encoding="utf-8"))
    lines: dict[str, list[str]] = {role: [] for role in data["roles"]}
    for roles in data["languages"].values():
        for role, of_language in roles.items():
            lines[role] += of_language
    words = {role: frozenset(fold(" ".join(of_role)).casefold().split()) for role, of_role in lines.items()}
    for role, formula in data["combined"].items():
        first, *rest = formula.split()
        words[role] = words[first]
        for sign, other in zip(rest[::2], rest[1::2], strict=True):
            words[role] = words[role] | words[other] if sign == "+" else words[role] - words[other]
    patterns = {
        meaning: tuple(re.compile(fold(pattern).casefold()) for pattern in listed)
        for meaning, listed in data.get("patterns", {}).items()
    }
    return words, patterns


_WORDS, _ = load_words(Path(__file__).with_name("words.json"))
globals().update({role.upper(): words for role, words in _WORDS.items()})


def __getattr__(name: str) -> frozenset[str]:
    """Declare the sets to type checkers; at run time only a name that is no role gets here."""
    raise AttributeError(f"Expected a role of words.json but got {name}")


# Scripts that are written without spaces: looked for at the end of what stands before the letter, or the start after.
BEFORE_NEGATION, BEFORE_LABEL, BEFORE_IS, BEFORE_CLAUSE, BEFORE_OPTION = (
    tuple(_WORDS[f"before_{role}"]) for role in ("negation", "label", "is", "clause", "option")
)
AFTER_NEGATIVE, AFTER_POSITIVE, AFTER_ENDING, AFTER_TALK = (
    tuple(_WORDS[f"after_{role}"]) for role in ("negative", "positive", "ending", "talk")
)

STOPS = frozenset({"\n", ".", "!", "?", "。", "।", "۔", "…", ";", ".."})
PAUSES = STOPS | {","}
OPENERS = frozenset("\"'([<{«「『【〈《|>*-–—→=:")
CLOSERS = frozenset("\"')]>}»」』】〉》*|")
# Behind a letter they make it the label of what follows: "A) …", "A: …".
LABELLING = frozenset(".):-–—]|、→(")
# Letters that are words of some language: the article "a", Spanish "y", Portuguese "o"…
ARTICLE_LIKE = frozenset("aioeyu")
