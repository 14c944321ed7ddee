"""Every score of some metrics, from records."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Record


def score_all(metrics: Iterable[Metric], records: Iterable[Record]) -> dict[str, float | int | None]:
    """The name of each metric and its score of the records; None where nothing enters it."""
    known = list(records)
    return {metric.name: metric.score_records(known) for metric in metrics}
