"""What a report shows of CaST-Bench."""

from __future__ import annotations

from functools import partial

from lmms_eval_tasks.cast_bench.metrics import question_scores
from lmms_eval_tasks.utils.bootstrap import Contribution
from lmms_eval_tasks.utils.columns import Column, Records, by_group, count_column, score_column, share_column
from lmms_eval_tasks.utils.records import Outcome

SHOWN = {"accuracy": "accuracy", "faithful": "faithful", "im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}


def columns(task: str) -> tuple[Column, ...]:
    """The columns of one of its tasks; intervals are over clips, as questions about one clip are not independent."""
    return (
        *(score_column(heading, partial(_contributions, name), stacked=True) for name, heading in SHOWN.items()),
        share_column(Outcome.UNPARSED),
        share_column(Outcome.UNSCORED),
        count_column("questions", len),
    )


def _contributions(metric: str, records: Records) -> list[Contribution]:
    """Each clip's part in a metric's mean over questions."""
    found = []
    for clip in by_group(records):
        values = [value for record in clip if (value := question_scores(record)[metric]) is not None]
        if values:
            found.append((sum(values), float(len(values))))
    return found
