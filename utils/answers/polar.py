"""Recognises an option by the yes or no that it alone starts with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.text import fold

_POLES = ("yes", "no")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# "No" before words is none ("no option fits"), "No. 2" a number.
_LEAD = re.compile(
    r"\W{0,9}(?:(?:the )?(?:final )?answer(?: is)?[:=\s]{1,3})?(yes|no)"
    r"(?:\s{0,3}(?=[.,;:!\n\-–—](?!\s?\d))|[\s\"'.!)\]>|]{0,9}\Z)",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"\b(?:answer|verdict|conclusion)(?: is| would be)?[\s:=]{1,3}(yes|no)\W{0,9}\Z", re.IGNORECASE)
_LINE = re.compile(r"(?<!\?)\n\W{0,9}(yes|no)\W{0,9}\Z", re.IGNORECASE)
_SENTENCE_CHARS = 400
_SENTENCE_END = re.compile(r"[.!?\n]")


def polar_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the option whose yes or no `text` answers with, or None.

    Only one option may start with "yes" and only one with "no". The word stands alone, behind a label, on the last
    line, or leads a sentence ("No, the ball …") that neither takes it back nor speaks in words of the other option.
    """
    known = [_WORD.findall(fold(option[:_SENTENCE_CHARS]).casefold()) for option in options]
    places = {pole: [i for i, option in enumerate(known) if option[:1] == [pole]] for pole in _POLES}
    if any(len(found) != 1 for found in places.values()):
        return None
    yes, no = (set(known[places[pole][0]][1:]) for pole in _POLES)
    telling = {"yes": {"no"} | no - yes, "no": {"yes", "nothing"} | yes - no}
    said = {pole for pole in (_leading(text, telling), _closing(text)) if pole}
    return places[said.pop()][0] if len(said) == 1 else None


def _leading(text: str, telling: dict[str, set[str]]) -> str | None:
    found = _LEAD.match(text)
    if not found:
        return None
    pole = found[1].casefold()
    rest = text[found.end() :].lstrip(" .,;:!\n-–—")
    sentence = _SENTENCE_END.split(rest[:_SENTENCE_CHARS], maxsplit=1)[0]
    said = set(_WORD.findall(sentence.casefold()))
    doubts = words.NO_VERDICT | words.CORRECT | words.CONTRAST | words.TENTATIVE - {"could", "possible"}
    return None if said & (doubts | telling[pole]) else pole


def _closing(text: str) -> str | None:
    found = _LABELLED.search(text) or _LINE.search(text)
    return found[1].casefold() if found else None
