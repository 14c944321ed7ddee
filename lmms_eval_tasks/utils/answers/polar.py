"""Recognises an option by the yes or no that it alone starts with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.opening import fold, takes_back

_POLES = ("yes", "no")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# "No" before words is none ("no option fits"), "No. 2" a number.
_LEAD = re.compile(
    r"\W{0,9}(?:(?:the )?(?:final )?answer(?: is)?[:=\s]{1,3})?(yes|no)"
    r"(?:\s{0,3}(?=[.,;:!\n\-–—](?!\s?\d))|[\s\"'.!)\]>|]{0,9}\Z)",
    re.IGNORECASE,
)
_END = re.compile(
    r"(?:\b(?:answer|verdict|conclusion)(?: is| would be)?[\s:=]{1,3}|(?<!\?)\n\W{0,9}"
    r"|\b(?:so|therefore|thus|hence|i(?: would|'d)? (?:say|answer|choose))[\s,:]{1,3})(yes|no)\W{0,9}\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?<![^\s(/>→.,;:!?])(yes|no)(?=\s{0,3}(?:[.,;:!?)/\n]|\Z))", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;:()]|\b(?:because|since|as|and|so)\b")
_DENYING = ("not", "never", "cannot")
_SENTENCE_CHARS = 400
_SENTENCE_END = re.compile(r"[.!?\n]")


def polar_option(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option whose yes or no `text` answers with, or None."""
    option_words = [_WORD.findall(fold(option[:_SENTENCE_CHARS]).casefold()) for option in options]
    places = {pole: [i for i, option in enumerate(option_words) if option[:1] == [pole]] for pole in _POLES}
    if any(len(at) != 1 for at in places.values()):
        return None
    yes, no = (set(option_words[places[pole][0]][1:]) for pole in _POLES)
    end = _END.search(text[-_SENTENCE_CHARS:])
    answers = {_leading(text, {"yes": yes - no, "no": no - yes}), end and end[1].casefold()} - {None}
    return ascii_uppercase[places[answers.pop() or ""][0]] if len(answers) == 1 else None


def _leading(text: str, own: dict[str, set[str]]) -> str | None:
    """The yes or no that leads the text; its sentence may neither say what the other option does nor deny its own."""
    lead = _LEAD.match(text)
    if not lead:
        return None
    pole = lead[1].casefold()
    other = _POLES[pole == "yes"]
    rest = text[lead.end() :].lstrip(" .,;:!\n-–—")
    if takes_back(rest) or any(word[1].casefold() == other for word in _ALONE.finditer(rest)):
        return None
    sentence = _SENTENCE_END.split(rest[:_SENTENCE_CHARS], maxsplit=1)[0].casefold()
    said: dict[bool, set[str]] = {False: set(), True: set()}
    for clause in _CLAUSE_END.split(sentence):
        denied = False
        for word in _WORD.findall(clause):
            denied = denied or word in _DENYING or word.endswith("n't")
            said[denied].add(word)
    opposing = words.TAKEN_BACK | {other} | ({"nothing"} if pole == "no" else set())
    wrong = opposing & (said[False] | said[True]) or own[other] & said[False] or own[pole] & said[True]
    return None if wrong else pole
