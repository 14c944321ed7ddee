"""The detection probe: did the action happen at all? Asked after the question, as in the paper's appendix B.2."""

from __future__ import annotations

import re

from lmms_eval_tasks.api import COMMON_METRICS, Metric, Record, Row
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, VERDICT_ACCURACY, content
from lmms_eval_tasks.api.prompts import Prompt, prompt_reader
from lmms_eval_tasks.countervqa.metrics import ALWAYS_NO, ALWAYS_YES, percent

PROMPT = "countervqa_probe"
ABSENT_LEVEL = "L3"

# Only characters of one line: from each of many empty lines, `\s` would look at all that follow.
_LABEL = re.compile(
    r"(?:^[ \t*_#>\d.)-]{0,12}|[{,][ \t\n]{0,12}\")(happened|first|answer|second)[ \t*_\"]{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)

read_settings = prompt_reader(fields=frozenset({"question", "action"}), default=PROMPT)


def guesses(row: Row) -> list[str]:
    """Every pair of answers."""
    return [f"Answer: {first}\nHappened: {second}" for first in ("Yes", "No") for second in ("Yes", "No")]


def asks_of_action_first(prompt: Prompt | None) -> bool:
    """Whether a prompt asks whether the action happened before it asks the question."""
    return prompt is not None and 0 <= prompt.text.find("{action}") < prompt.text.find("{question}")


def split_response(response: object, action_first: bool) -> tuple[str, str]:
    """Split a response into its text about the action and its answer to the question."""
    if not isinstance(response, str):
        return "", ""
    response = content(response)
    of_action = {"happened": True, "answer": False, "first": action_first, "second": not action_first}
    places = {of_action[label[1].lower()]: label for label in reversed(list(_LABEL.finditer(response)))}
    if len(places) == 2:
        (first, start), (second, end) = sorted(places.items(), key=lambda place: place[1].start())
        said = {first: response[start.end() : end.start()], second: response[end.end() :]}
        return said[True], said[False]
    if action_first:
        line, _, rest = response.partition("\n")
        return line, rest
    rest, several, line = response.rpartition("\n")
    return (line, rest) if several else ("", line)


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
