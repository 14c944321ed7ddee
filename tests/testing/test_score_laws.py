"""A score that breaks a law is named with the law that it breaks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.testing.score_laws import check_scores, unreached
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Record, UnscoredReason

RECORDS = [
    Record.graded(f"{n}", f"{n}", {}, "A", answered, fields={}, missing=UnscoredReason.NO_CLIP if n == 3 else None)
    for n, answered in enumerate("AABA")
]
ACCURACY = Metric("accuracy", "accuracy", lambda record: None if record.correct is None else 100.0 * record.correct)


class FirstItem(Metric):
    """Its score is the first item's value."""

    def combine(self, units):  # type: ignore[no-untyped-def]
        return next((unit.value for counted in units.values() for unit in counted), None)


class Nothing(Metric):
    """It has a score of no items."""

    def combine(self, units):  # type: ignore[no-untyped-def]
        return super().combine(units) or 0.0


def test_a_broken_law_is_named(expected: Any) -> None:
    """As is a score that has no value."""
    none = replace(ACCURACY, name="none", value=lambda record: None)
    assert unreached([ACCURACY, none], RECORDS) == ["none"]
    assert not check_scores([none], RECORDS, Path(__file__).parent)
    broken = [
        replace(ACCURACY, value=lambda record: str(record.correct)),  # type: ignore[arg-type,return-value]
        replace(ACCURACY, value=lambda record: 101.0),
        replace(ACCURACY, bounds=(0.0, 50.0)),
        replace(ACCURACY, bounds=(0.0, 200.0)),
        FirstItem(ACCURACY.name, ACCURACY.title, ACCURACY.value),
        Nothing("nothing", "nothing", ACCURACY.value),
        replace(ACCURACY, applies=lambda record: record.fields["totl"]),
    ]
    said = []
    for metric in broken:
        (named,) = check_scores([ACCURACY, metric], RECORDS, Path(__file__).parent).first
        said.append(re.sub(r"line \d+", "line N", named))
    expected("\n".join(said))
