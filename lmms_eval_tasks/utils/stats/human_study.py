"""A study of people that asks otherwise than a model is asked: its answers graded, scored, and made into a label.

Source: YoCausal paper, section on people (two clips beside each other, *unknown* counts half, Tables 4 and 5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Outcome, Record
from lmms_eval_tasks.utils.stats.estimates import Estimate, estimate
from lmms_eval_tasks.utils.stats.human_responses import RIGHT, UNKNOWN, AskedQuestion, Key, Response

CREDIT = "human_credit"
"""Field of a record that has the mean credit of the responses to an item, 0-1."""


@dataclass(frozen=True)
class HumanStudy:
    """What is made of people's answers about the items of a benchmark that are shown in several ways.

    Attributes:
        versions: Each way in which an item is shown to the choice that is then right, upper-case.
        choices: What can be chosen beside *unknown*, upper-case.
        metrics: The scores. What an item contributes to them is the mean credit of its responses (right 1, *unknown*
            0.5, wrong 0), whatever a metric's own value is; its `transform` makes percent of that.
        stratum: Names and values by which a row's scores are broken down.
        columns: Columns of the table that the metrics need, as fields of the record.
        label: Name of the label that is true of an item where more than half of its responses are right.
    """

    versions: Mapping[str, str]
    choices: tuple[str, ...]
    metrics: tuple[Metric, ...]
    stratum: Callable[[Mapping[str, Any]], Mapping[str, str]]
    columns: tuple[str, ...]
    label: str

    def questions(self, rows: Iterable[Mapping[str, Any]]) -> dict[Key, AskedQuestion]:
        """What people can be asked about the rows of a prepared table: each item in each version."""
        return {
            (row["item_id"], version): AskedQuestion(key, self.choices, self.stratum(row), item_id=row["item_id"])
            for row in rows
            for version, key in self.versions.items()
        }


@dataclass(frozen=True)
class StudyScore:
    """A score of people; None where nothing enters it."""

    metric: Metric
    estimate: Estimate | None


def score_study(
    study: HumanStudy, rows: Iterable[Mapping[str, Any]], responses: Sequence[Response]
) -> list[StudyScore]:
    """The study's scores, each item with the mean credit of its responses, whichever way it was shown."""
    credits = _credits(responses)
    records = [
        Record(
            item_id=row["item_id"],
            group_id=row["item_id"],
            stratum=dict(study.stratum(row)),
            expected=None,
            answered=None,
            outcome=Outcome.CORRECT,
            fields={**{name: row[name] for name in study.columns}, CREDIT: _mean(credits[row["item_id"]])},
        )
        for row in rows
        if row["item_id"] in credits
    ]
    metrics = [replace(metric, value=_credit) for metric in study.metrics]
    return [StudyScore(metric, estimate(metric, [records])) for metric in metrics]


def label_items(responses: Sequence[Response]) -> dict[str, bool]:
    """Whether more than half of the responses to an item are right, for each item; *unknown* is not right."""
    return {item: 2 * credits.count(RIGHT) > len(credits) for item, credits in sorted(_credits(responses).items())}


def unknown_share(responses: Sequence[Response]) -> float:
    """Percent of responses that are *unknown*."""
    return 100.0 * sum(response.choice == UNKNOWN for response in responses) / len(responses)


def _credit(record: Record) -> float:
    """The mean credit of the responses to a record's item, 0-1."""
    return float(record.fields[CREDIT])


def _credits(responses: Sequence[Response]) -> dict[str, list[float]]:
    credits: defaultdict[str, list[float]] = defaultdict(list)
    for response in responses:
        credits[response.item].append(response.credit)
    return dict(credits)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
