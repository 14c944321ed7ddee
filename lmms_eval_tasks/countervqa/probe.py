"""The detection probe: did the action happen at all? Asked before the question, so that its answer can be told apart.

A model that takes an action for granted which never happened cannot reason about its absence. Actions that did happen
are asked about as well: without them a constant no would be right every time.
"""

from __future__ import annotations

import re

from lmms_eval_tasks.api import COMMON_METRICS, Metric, Record, Row
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, VERDICT_ACCURACY
from lmms_eval_tasks.api.prompts import prompt_reader
from lmms_eval_tasks.countervqa.metrics import ALWAYS_NO, ALWAYS_YES, percent

PROMPT = "countervqa_probe"
ABSENT_LEVEL = "L3"

# Only characters of one line: from each of many empty lines, `\s` would look at all that follow.
_LABEL = re.compile(r"^[ \t*_#>\d.)-]{0,12}(happened|first|answer|second)[ \t*_]{0,4}:", re.IGNORECASE | re.MULTILINE)
_FIRST = ("happened", "first")

read_settings = prompt_reader(fields=frozenset({"question", "action"}), default=PROMPT)


def guesses(row: Row) -> list[str]:
    """Every pair of answers."""
    return [f"Happened: {first}\nAnswer: {second}" for first in ("Yes", "No") for second in ("Yes", "No")]


def split_response(response: object) -> tuple[str, str]:
    """What a response says first and second: by its labels, else its first line and the rest."""
    if not isinstance(response, str):
        return "", ""
    labels = list(_LABEL.finditer(response))
    places = {label[1].lower() in _FIRST: label for label in reversed(labels)}
    if len(places) == 2 and places[True].start() < places[False].start():
        return response[places[True].end() : places[False].start()], response[places[False].end() :]
    first, _, rest = response.strip().partition("\n")
    return first, rest


def _detected(record: Record) -> float | None:
    return percent(record.fields["detected"])


def _right_where_detected(record: Record) -> float | None:
    return percent(record.correct) if record.fields["detected"] else None


def _is_absent(record: Record) -> bool:
    return record.stratum["level"] == ABSENT_LEVEL


DETECTION = Metric("detection_accuracy", "detection", _detected, errors="clustered")
"""Percent of items whose action is rightly said to happen or not to; an unread answer is wrong."""

DETECTION_ABSENT = DETECTION.within("absent", _is_absent)
DETECTION_PRESENT = DETECTION.within("present", lambda record: not _is_absent(record))

DETECTION_BALANCED = Metric(
    "detection_balanced", "detection, balanced", _detected, stratum=lambda record: str(_is_absent(record))
)
"""The mean of both: 50 for a constant, where the set has actions of both kinds."""

GIVEN_DETECTION = Metric("verdict_accuracy_given_detection", "verdict given detection", _right_where_detected)
"""Percent of right verdicts among the items whose action was rightly detected."""

GIVEN_ABSENCE = GIVEN_DETECTION.within("absent", _is_absent)
"""The same where the action never happened."""

METRICS = (
    DETECTION,
    DETECTION_ABSENT,
    DETECTION_PRESENT,
    DETECTION_BALANCED,
    GIVEN_DETECTION,
    GIVEN_ABSENCE,
    VERDICT_ACCURACY,
    BALANCED_ACCURACY,
    ALWAYS_YES,
    ALWAYS_NO,
    *COMMON_METRICS,
)
