"""Clips of which is asked whether what they show is possible, and their score."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.plausibility import POSSIBLE, read_plausibility
from lmms_eval_tasks.utils.benchmark.benchmark import TaskContext
from lmms_eval_tasks.utils.benchmark.rows import Row
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.parts import Fields, Grade, Stratum, fields_of, stratum_of
from lmms_eval_tasks.utils.scoring.rates import percent
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record


def plausibility_grader(stratum: Stratum = (), fields: Fields = ()) -> Grade:
    """How a task grades free answers to whether what a clip shows is possible, whose keys are A, possible, and B.

    The answer is what `read_plausibility` finds. An item is unscored where its clip is missing or its key is withheld,
    and unparsed where nothing is read. A record's field ``prompt`` has the prompt's signature.

    Args:
        stratum: Columns of the prepared table by which scores are broken down, or names and values from a row.
        fields: Columns that a record repeats among its fields, or names and values from a row, the response and the
            task.
    """

    def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
        return GradedItem(
            Record.graded(
                row["item_id"],
                row["group_id"],
                stratum_of(row, stratum),
                row["answer"],
                read_plausibility(response, cut_off=row.get("cut_off", False)) if row["asked"] else None,
                asked=row["asked"],
                fields=fields_of(row, response, context, fields),
            )
        )

    return grade


def _says_possible(record: Record) -> float | None:
    return None if record.answered is None else percent(record.answered == POSSIBLE)


SAYS_POSSIBLE = Metric("says_possible", "says possible", _says_possible, higher_is_better=None)
"""Percent of the read answers that say possible: 50 of the keys, where each possible clip has an impossible one."""
