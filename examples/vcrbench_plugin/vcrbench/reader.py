"""How a response is read as an order of clips, by the official script and by us, and graded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmms_eval_tasks import api
from lmms_eval_tasks.api.answers import content

READER = "order reader 1"
LONGEST_NUMBER = 4_300
"""Digits beyond which Python reads no number, so that the official script passes it over."""

_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_ANNOUNCED = re.compile(r"(?:order|sequence)\b[^\n:=]{0,60}?(?:[:=]|\bis\b)", re.IGNORECASE)
_MENTION = re.compile(r"\bclips?\W{0,3}(\d{1,2})\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def count_of(parts: api.Row) -> int:
    """How many clips a row, or a record's stratum, has."""
    return int(parts["steps"].split()[0])


def as_order(numbers: Iterable[str], count: int) -> str | None:
    """Numbers as an answer, where they are those of all clips, each once."""
    order = [int(number) for number in numbers]
    return ", ".join(map(str, order)) if sorted(order) == list(range(1, count + 1)) else None


def read_official(response: str, count: int) -> str | None:
    """The first sentence or line whose parts between commas begin with the numbers of all clips.

    Its list of phrases that announce an answer changes nothing, for the search ends at the first of them, an empty one.

    Source: pritamqu/VCRBench@5d616a3, process.py.
    """
    for sentence in _ENDS.split(response.replace("*", "")):
        found = (re.search(r"\d+", part) for part in sentence.split(","))
        if order := as_order((one[0] for one in found if one and len(one[0]) <= LONGEST_NUMBER), count):
            return order
    return None


def read_order(reply: api.Reply, count: int) -> str | None:
    """The order after the last announcement, else that of the last sentence which has one.

    Reasoning is passed over. What was cut off before it announced an order has none: its last sentence may list what
    the clips show.
    """
    said = content(reply.text).replace("*", "")
    announced = list(_ANNOUNCED.finditer(said))
    last = said[announced[-1].end() :] if announced else ""
    rest = [] if reply.cut_off else reversed(_ENDS.split(said))
    for text in (*_ENDS.split(last), last, *rest):
        for numbers in (_MENTION.findall(text), _NUMBER.findall(text)):
            if order := as_order(numbers, count):
                return order
    return None


def share_right(order: str | None, key: str) -> float:
    """Percent of the steps in their place, 0 without an order."""
    steps = key.split(", ")
    return 100.0 * sum(map(str.__eq__, (order or "").split(", "), steps)) / len(steps)


def grade_order(row: api.Row, reply: api.Reply, context: api.RunningTask) -> api.GradedItem:
    """The record of whatever a model gave; raises nothing."""
    count, key = count_of(row), row["answer"]
    order, official = read_order(reply, count), read_official(reply.text, count)
    known = bool(key) and not reply.missing
    fields = {
        "steps_right": share_right(order, key) if known else None,
        "official_answered": official,
        "official_correct": official == key if known else None,
        "official_steps_right": share_right(official, key) if known else None,
        "prompt": context.settings.signature,
    }
    stratum = {"goal": row["goal"], "steps": row["steps"]}
    return api.GradedItem(api.Record.of(row, order, stratum, fields, missing=reply.missing))
