"""Grading of CausalVQA's answers; its tasks' YAML names the shared hooks, which call `grade`."""

from __future__ import annotations

import re

from lmms_eval_tasks.api import Row, choice_grader
from lmms_eval_tasks.api.hooks import process_results

__all__ = ["process_results"]  # by which YAML files of earlier versions name it

_SPACED_OR_DROPPED = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FREE_PERIOD = re.compile(r"\.(?!\d)")
_LAST_LONE_LETTER = re.compile(r".*\b([a-e])\b", re.DOTALL)
_PERIODS_REMOVED = 32


def official_choice(text: str) -> str:
    """Extract an answer the way the official `mcq_acc` does, so that scores compare with published tables.

    What it does, in order, quirks included:

    - The official search for the requested one-line format can never succeed (a look-behind tried only at position 0),
      so a well-formed answer gets no preference over any other letter and the rule is absent here.
    - Line feeds and tabs become spaces (other white space stays) and the ends are stripped.
    - Each mark of ``; / [ ] " { } ( ) = + \\ _ - > < @ ` , ? !`` is deleted everywhere if it stands next to a space
      anywhere, or if a comma between two digits occurs anywhere; otherwise it becomes a space. Deleting joins words.
    - Only the first 32 periods that no digit follows are removed (a flag was passed where a count is expected).
    - Enclosing ``'``, ``"``, ``)`` and ``(`` are stripped in that order and the rest is lower-cased.
    - The *last* lone letter a-e is the answer, so the article "a" and the "d" of "I'd" count as answers.

    Args:
        text: The model's response; any string.

    Returns:
        An upper-case letter A-E, whether or not the question has that option; without any lone letter the processed
        text, which equals no answer key (the empty string for a response of marks only).

    Source: facebookresearch/CausalVQA@3f65605, tasks/utils.py, `mcq_acc`.
    """
    line = text.replace("\n", " ").replace("\t", " ").strip()
    number_with_comma = _COMMA_IN_NUMBER.search(line) is not None
    dropped = {mark: number_with_comma or f"{mark} " in line or f" {mark}" in line for mark in _SPACED_OR_DROPPED}
    for mark in _SPACED_OR_DROPPED:
        line = line.replace(mark, "" if dropped[mark] else " ")
    line = _FREE_PERIOD.sub("", line, count=_PERIODS_REMOVED)
    for quote in "'\")(":
        line = line.strip(quote)
    line = line.strip().lower()
    letter = _LAST_LONE_LETTER.match(line)
    return letter[1].upper() if letter else line


def strata(row: Row) -> dict[str, str]:
    return {name: row[name] for name in ("type", "difficulty", "scenario") if row.get(name)}


grade = choice_grader(official_choice, stratum=strata, fields=("version",))
