"""Scores with the unparsed answers that a judge read, beside those of our reader and the official ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.scores import metrics_of
from lmms_eval_tasks.utils.core.output import Cell, FittingTable
from lmms_eval_tasks.utils.reporting.columns import Column, score_number
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

HEADINGS = ("run", "score", "ours", "official", "with the judge")
READING = (
    "A judge read what our reader left unparsed (`rescore --read-unparsed`). All other scores count these answers as "
    "wrong."
)


def judge_panels(name: str, runs: Sequence[Run]) -> list[Panel]:
    return [Panel("With answers that a judge read", note=READING, table=one) for one in judge_tables(runs, name)]


def judge_tables(runs: Sequence[Run], only: str = "") -> Iterator[FittingTable]:
    """Yield a table per task or group of which a judge read unparsed answers: a row per run and leading score."""
    for entry in entries_of(runs, only):
        official = {one.name: one for one in metrics_of(entry.task)}
        leading = [one.metric for one in entry.references(max(len(one.records) for one in entry.held))]
        method = entry.of_scores([Column(metric) for metric in leading])
        table = entry.table(": with answers that a judge read", HEADINGS, method, names=2, blank_repeats=True)
        lines: list[str] = []
        for held in entry.held:
            asked = [one for record in held.records for one in record.each if one.reading]
            if not any(one.outcome is Outcome.UNPARSED for one in asked):
                continue
            judged = [[record.as_judged for record in part] for part in held.parts]
            for metric in leading:
                ours, theirs = (score_number(estimate(metric, parts), metric.unit) for parts in (held.parts, judged))
                beside = official.get(f"{metric.name}_official")
                script: Cell = score_number(estimate(beside, held.parts), beside.unit) if beside else ""
                table.add_row(held.name, metric.title, ours, script, theirs)
                if metric is leading[0]:
                    named = f"{held.name}: {metric.title} {ours.value_text}, {theirs.value_text}"
                    lines.append(f"{named} with {_readings(asked)}")
            lines += _agreement(held.name, asked)
        if table.rows:
            table.caption = "\n".join(lines)
            yield table


def _readings(asked: Sequence[Record]) -> str:
    """Say how many unparsed answers a judge read, and why it read no others."""
    readings = [one.reading for one in asked if one.reading and one.outcome is Outcome.UNPARSED]
    judges = ", ".join(sorted({f"{one.model} ({one.prompt})" for one in readings}))
    failed = Counter(one.reason for one in readings if one.reason)
    read = sum(one.answered is not None for one in readings)
    why = {"choose none of the possible ones": len(readings) - read - failed.total(), **failed}
    others = "; ".join(f"{count:,} {reason}" for reason, count in why.items() if count)
    return f"{read:,} of {len(readings):,} unparsed answers read by {judges}{f'; {others}' if others else ''}."


def _agreement(name: str, asked: Sequence[Record]) -> Iterator[str]:
    """Say how often the judge agrees with our reader on answers that both were given."""
    both = [one for one in asked if one.reading and not one.reading.reason and one.outcome is not Outcome.UNPARSED]
    if both:
        alike = sum(one.reading is not None and one.reading.answered == one.answered for one in both)
        share = f"{alike:,} of {len(both):,} answers that our reader reads ({100 * alike / len(both):.0f}%)"
        yield f"{name}: the judge reads {share} as it does."
