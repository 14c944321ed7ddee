"""What CounterVQA's lines of a sample log have beyond those of every task."""

from __future__ import annotations

from lmms_eval_tasks.utils.scoring.log_forms import LogLine, RecordForm, StratumForm


class VerdictStratum(StratumForm):
    """The cell of the paper's table, and the rule that made the question."""

    interaction: str
    level: str
    rule: str


class VerdictRecord(RecordForm):
    """The record of a question."""

    stratum: VerdictStratum  # type: ignore[assignment]


class VerdictLine(LogLine):
    """The line of a question."""

    record: VerdictRecord
