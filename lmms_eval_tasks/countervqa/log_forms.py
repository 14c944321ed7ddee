"""What CounterVQA's lines of a sample log have beyond those of every task."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.utils.scoring.log_forms import LogForm, LogLine, RecordForm, StratumForm


class VerdictStratum(StratumForm):
    """The cell of the paper's table, and the rule that made the question."""

    interaction: str
    level: str
    rule: str


class AskedJudgeForm(LogForm):
    """Which judge was asked, and why it gave no number."""

    model: str
    prompt: str
    reason: str | None = None


class VerdictFields(LogForm):
    """Of a question; a run without a judge has no numbers."""

    judged: bool | None = None
    agreement: Annotated[float, Field(ge=0.0, le=10.0)] | None = None
    judge: AskedJudgeForm | None = None


class VerdictRecord(RecordForm):
    """The record of a question."""

    stratum: VerdictStratum  # type: ignore[assignment]
    fields: VerdictFields  # type: ignore[assignment]


class VerdictLine(LogLine):
    """The line of a question."""

    record: VerdictRecord


class ProbeFields(LogForm):
    """Of a question that is asked after its action."""

    detected: bool | None
    detection: str | None = None


class ProbeRecord(RecordForm):
    """The record of such a question."""

    stratum: VerdictStratum  # type: ignore[assignment]
    fields: ProbeFields  # type: ignore[assignment]


class ProbeLine(LogLine):
    """The line of such a question."""

    record: ProbeRecord
