"""Recognises an option by the yes or no that it alone starts with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

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
_END = re.compile(
    r"(?:\b(?:answer|verdict|conclusion)(?: is| would be)?[\s:=]{1,3}|(?<!\?)\n\W{0,9})(yes|no)\W{0,9}\Z", re.IGNORECASE
)
_SENTENCE_CHARS = 400
_SENTENCE_END = re.compile(r"[.!?\n]")


def polar_option(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option whose yes or no `text` answers with, or None.

    Only one option may start with "yes" and only one with "no". The word stands alone, behind a label, on the last
    line, or leads a sentence ("No, the ball …") that neither takes it back nor speaks in words of the other option.
    """
    option_words = [_WORD.findall(fold(option[:_SENTENCE_CHARS]).casefold()) for option in options]
    places = {pole: [i for i, option in enumerate(option_words) if option[:1] == [pole]] for pole in _POLES}
    if any(len(at) != 1 for at in places.values()):
        return None
    yes, no = (set(option_words[places[pole][0]][1:]) for pole in _POLES)
    opposing = {"yes": {"no"} | no - yes, "no": {"yes", "nothing"} | yes - no}
    end = _END.search(text)
    answers = {_leading(text, opposing), end and end[1].casefold()} - {None}
    return ascii_uppercase[places[answers.pop() or ""][0]] if len(answers) == 1 else None


def _leading(text: str, opposing: dict[str, set[str]]) -> str | None:
    lead = _LEAD.match(text)
    if not lead:
        return None
    pole = lead[1].casefold()
    rest = text[lead.end() :].lstrip(" .,;:!\n-–—")
    sentence = set(_WORD.findall(_SENTENCE_END.split(rest[:_SENTENCE_CHARS], maxsplit=1)[0].casefold()))
    return None if sentence & (words.TAKEN_BACK | opposing[pole]) else pole
