"""A score that breaks a law is named with the law that it breaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmms_eval_tasks.testing.score_laws import check_scores, unreached
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Record

RECORDS = [
    Record.graded(f"{n}", f"{n}", {}, "A", answered, asked=n != 3, fields={}) for n, answered in enumerate("AABA")
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


def first(metric: Metric) -> FirstItem:
    return FirstItem(metric.name, metric.title, metric.value)


@pytest.mark.parametrize(
    ("metric", "fault"),
    [
        (replace(ACCURACY, value=lambda record: str(record.correct)), "Expected a number or None of a record, but got"),  # type: ignore[arg-type,return-value]
        (
            replace(ACCURACY, value=lambda record: 101.0),
            "Expected values from 0 to 100, its value_bounds, but got 101.",
        ),
        (replace(ACCURACY, bounds=(0.0, 50.0)), "Expected a score from 0 to 50, its bounds, but got "),
        (replace(ACCURACY, bounds=(0.0, 200.0)), "Expected 200 where all values are 100, but got 100.0."),
        (first(ACCURACY), "Expected the order of items not to matter, but got "),
        (
            Nothing("nothing", "nothing", ACCURACY.value),
            "Expected no score without items, or 0 of a count, but got 0.0",
        ),
        (
            replace(ACCURACY, applies=lambda record: record.fields["totl"]),
            "Expected a number or None of a record, which has expected, answered, outcome, but got this: "
            "testing/test_score_laws.py, line ",
        ),
    ],
)
def test_a_broken_law_is_named(metric: Metric, fault: str) -> None:
    problems = check_scores([ACCURACY, metric], RECORDS, Path(__file__).parent)
    (named,) = problems.first
    assert named.startswith(f"metrics, {metric.name}: {fault}"), named


def test_a_score_without_a_value_is_named() -> None:
    none = replace(ACCURACY, name="none", value=lambda record: None)
    assert unreached([ACCURACY, none], RECORDS) == ["none"]
    assert not check_scores([none], RECORDS, Path(__file__).parent)
