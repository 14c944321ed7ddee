"""Rules about the texts of questions and options: how long, how alike, and what gives an answer away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from lmms_eval_tasks.build.engine.texts import holds_text

LONGEST = 600
"""Characters of a text that a model writes."""
LONGEST_CHANGE = 3
"""Words in a row that may be another in a near-miss."""
_WORD = re.compile(r"[^\W_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W_]+)*")


def on_one_line(text: str) -> str:
    """A text with single spaces in place of all other white space."""
    return " ".join(text.split())


def is_legible(text: str) -> bool:
    """Whether a text on one line is printable and of `LONGEST` characters at most."""
    return len(text) <= LONGEST and text.isprintable()


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without its punctuation."""
    return [word.lower() for word in _WORD.findall(text)]


def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(words_of(text))


def holds_id(texts: Iterable[str], ids: Iterable[str]) -> bool:
    """Whether a text calls an instance by its id; an id of letters alone may be a word, and is none here."""
    marked = [re.escape(one) for one in ids if re.search(r"[\d_]", one)]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(marked)})(?!\w)", re.IGNORECASE)
    return bool(marked) and any(pattern.search(text) for text in texts)


def named_beyond(text: str, question: str, names: Iterable[str]) -> list[str]:
    """The names that a text holds and a question does not."""
    return [name for name in names if holds_text(text, name) and not holds_text(question, name)]


def near_miss_fault(near_miss: str, original: str) -> str:
    """Return the rule by which a text is no near-miss of another, empty if it is one."""
    shortest, longest = length_range(original)
    if not shortest <= len(near_miss) <= longest:
        return "near-miss: length not within 10%"
    before, after = words_of(original), words_of(near_miss)
    compared = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changes = [change for change in compared if change[0] != "equal"]
    if not changes:
        return "near-miss: nothing changed"
    _, first, last, first_after, last_after = changes[0]
    if len(changes) > 1 or max(last - first, last_after - first_after) > LONGEST_CHANGE:
        return "near-miss: more than one attribute changed"
    return ""


def length_range(original: str) -> tuple[int, int]:
    """The fewest and the most characters of a near-miss."""
    return -(-9 * len(original) // 10), 11 * len(original) // 10
