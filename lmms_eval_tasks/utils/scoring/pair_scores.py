"""Scores of items that count in pairs: MCQ and MCQ′, minimal video pairs, forward and reversed clips."""

from __future__ import annotations

from lmms_eval_tasks.utils.scoring.metrics import PAIR, Metric
from lmms_eval_tasks.utils.scoring.rates import percent
from lmms_eval_tasks.utils.scoring.records import Record


def _right(record: Record) -> float | None:
    return percent(record.correct)


def _right_officially(record: Record) -> float | None:
    return percent(record.fields["official_correct"])


PAIR_ACCURACY = Metric("pair_accuracy", "pair accuracy", _right, together=PAIR)
"""Percent of complete, scored pairs with both members right."""

SINGLE_ACCURACY = Metric("single_accuracy", "single accuracy", _right, errors="clustered")
"""Percent of scored items that are right."""

PAIR_ACCURACY_OFFICIAL = Metric("pair_accuracy_official", "official reader", _right_officially, together=PAIR)
OFFICIAL_ACCURACIES = (
    PAIR_ACCURACY_OFFICIAL,
    Metric("single_accuracy_official", "official reader, single", _right_officially),
)
"""Pair and single accuracy in percent as the benchmark's own script reads the responses: of records with the field
``official_correct``, which `choice_grader` gives them with ``read_official``."""

PAIRS_SCORED = Metric("pairs_scored", "pairs", _right, together=PAIR, kind="groups", unit="", higher_is_better=None)
"""How many pairs `PAIR_ACCURACY` stands on: those with two members, both scored."""
