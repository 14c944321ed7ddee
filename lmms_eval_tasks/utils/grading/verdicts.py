"""Questions that are answered with yes or no in free words, and their scores."""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.benchmark import TaskContext
from lmms_eval_tasks.utils.benchmark.rows import Row
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.parts import Fields, Grade, Stratum, fields_of, stratum_of
from lmms_eval_tasks.utils.scoring.rates import percent
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record
from lmms_eval_tasks.utils.verdicts.reader import read_verdict
from lmms_eval_tasks.utils.verdicts.statements import UNCLEAR, YES


def verdict_grader(stratum: Stratum = (), fields: Fields = ()) -> Grade:
    """How a task grades free answers to "had A not happened, would B still have?", whose keys are yes and no.

    The answer is the verdict that `read_verdict` finds. An item is unscored where its clip is missing or its key is
    withheld, and unparsed where there is no verdict. A record's field ``prompt`` has the prompt's signature.

    Args:
        stratum: Columns of the prepared table by which scores are broken down, or names and values from a row.
        fields: Columns that a record repeats among its fields, or names and values from a row, the response and the
            task.
    """

    def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
        verdict = UNCLEAR
        if row["asked"]:
            verdict = read_verdict(response, row["question"], cut_off=row.get("cut_off", False))
        return GradedItem(
            Record.graded(
                row["item_id"],
                row["group_id"],
                stratum_of(row, stratum),
                row["answer"],
                None if verdict == UNCLEAR else verdict,
                asked=row["asked"],
                fields=fields_of(row, response, context, fields),
            )
        )

    return grade


def _right(record: Record) -> float | None:
    return percent(record.correct)


def _says_yes(record: Record) -> float | None:
    return None if record.answered is None else percent(record.answered == YES)


VERDICT_ACCURACY = Metric("verdict_accuracy", "verdict accuracy", _right, errors="clustered")
"""Percent of scored items with the right verdict; an answer without one is wrong."""

BALANCED_ACCURACY = Metric(
    "balanced_accuracy", "balanced accuracy", _right, stratum=lambda record: str(record.expected)
)
"""The unweighted mean of the accuracies where yes and where no is right: 50 for a constant, where both occur."""

YES_RATE = Metric("yes_rate", "says yes", _says_yes, higher_is_better=None)
"""Percent of read verdicts that are yes."""
