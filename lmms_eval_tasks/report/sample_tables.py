"""Tables of runs that answered each item several times: the scores of single draws, and of all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmms_eval_tasks.report.score_tables import entries_of, versions_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.scores import references_of, samples_of
from lmms_eval_tasks.utils.core.table import FittingTable, Number
from lmms_eval_tasks.utils.reporting.columns import score_number
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD, estimate
from lmms_eval_tasks.utils.scoring.metrics import SELF_AGREEMENT, over_samples, variances

HEADINGS = ("score", "samples", "mean", "any of k", "all of k", "majority", "from samples", "agreement")
READING = (
    "k samples an item: the mean score, right in any and in all, and by the answer that most give; from samples: "
    "the share of the mean's uncertainty that more samples take away; agreement: percent of pairs of samples alike."
)


def sample_panels(name: str, runs: Sequence[Run]) -> list[Panel]:
    panels = []
    for table in sample_tables(runs, name):
        table.title = ""
        note = f"{READING} Items, pairs and curves below are those of the first sample."
        panels.append(Panel("Several samples an item", note=note, wide=True, table=table))
    return panels


def sample_tables(runs: Sequence[Run], only: str = "") -> Iterator[FittingTable]:
    """Yield a table per task or group that runs with several samples an item hold: a row per run and score."""
    for name, entries in entries_of(runs, only).items():
        run, tasks = entries[0]
        rotated = any(record.orders for record in run.records[tasks[0]])
        over = "orders of its options" if rotated else "samples"
        table = FittingTable(f"{name}: over {over}", ("run", *HEADINGS), names=2, blank_repeats=True)
        table.signature = f"{name}, version {versions_of(name, entries)}; {METHOD}"
        for run, tasks in entries:
            parts = [run.records[task] for task in tasks]
            records = [record for part in parts for record in part]
            if not (samples := samples_of(records)):
                continue
            for metric in (one.metric for one in references_of(name, tasks[0], len(records))):
                if not (beside := over_samples(metric)):
                    continue
                # Of single orders, although the score counts what is right in all.
                mean = replace(metric, higher_is_better=None) if rotated else metric
                between, within = variances(metric, parts) or (0.0, 0.0)
                total = between + within / samples
                table.add_row(
                    run.title,
                    metric.title,
                    samples,
                    *(score_number(one, estimate(one, parts)) for one in (mean, *beside)),
                    Number(100 * within / samples / total if total else None, unit="%"),
                    score_number(SELF_AGREEMENT, estimate(SELF_AGREEMENT, parts)),
                )
        if table.rows:
            table.caption = READING
            yield table
