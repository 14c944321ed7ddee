"""The paper's video-mask test: a question whose evidence is black should not be answered any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from string import ascii_uppercase

from lmms_eval_tasks.api import Outcome, Record, Row
from lmms_eval_tasks.api.evidence import read_truth

UNABLE = "Unable to determine"
"""The added option. The paper names it; its wording here is ours."""
BLACK = "the evidence is black"
"""Why no evidence of an answer is graded."""
ADDED = "unable"
"""The field of a record that has the letter of the added option."""


def timed_boxes(row: Row) -> list[tuple[float, float, tuple[float, float, float, float]]]:
    """Return the times and boxes at which a question's clip is black: from a second up to another, and a box in
    pixels."""
    return [
        (max(second - 1, evidence.start), min(second + 1, evidence.end + 1), box)
        for instance in read_truth(row["evidence"])
        for evidence in instance.evidences
        for second, box in zip(evidence.seconds, evidence.boxes, strict=True)
        if evidence.start <= second <= evidence.end
    ]


def masked_row(row: Row) -> Row:
    """A row with the added option; as it is where its evidence has no box, so that nothing could be masked."""
    if not timed_boxes(row):
        return row
    kinds = row["option_kinds"]
    return {**row, "options": [*row["options"], UNABLE], "option_kinds": [*kinds, None] if kinds else kinds}


def added_option(row: Row) -> dict[str, str]:
    """Return the record's field for the added option; empty if the row has none."""
    return {ADDED: ascii_uppercase[row["options"].index(UNABLE)]} if UNABLE in row["options"] else {}


class MaskOutcome(str, Enum):
    """Outcome of a question whose evidence was black."""

    STILL_RIGHT = "still answered right"
    UNABLE = "unable to determine"
    WRONG = "answered wrong"
    UNPARSED = "no answer that can be read"
    UNSCORED = "not scored"
    NOT_MASKED = "not masked: its evidence has no box"


@dataclass(frozen=True)
class MaskedAnswer:
    """One question of a run over masked clips, and what became of it."""

    item_id: str
    outcome: MaskOutcome


def read_outcomes(records: Iterable[Record]) -> list[MaskedAnswer]:
    """Return the outcome of each question of a finished run over masked clips."""
    return [MaskedAnswer(record.item_id, _outcome(record)) for record in records]


def _outcome(record: Record) -> MaskOutcome:
    if ADDED not in record.fields:
        return MaskOutcome.NOT_MASKED
    if record.outcome is Outcome.UNSCORED:
        return MaskOutcome.UNSCORED
    if record.outcome is Outcome.CORRECT:
        return MaskOutcome.STILL_RIGHT
    if record.outcome is Outcome.UNPARSED:
        return MaskOutcome.UNPARSED
    return MaskOutcome.UNABLE if record.answered == record.fields[ADDED] else MaskOutcome.WRONG
