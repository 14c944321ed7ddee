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


class AgreementForm(LogForm):
    """Who judged an explanation, and why in vain."""

    model: str
    prompt: str
    reason: str | None


class VerdictFields(LogForm):
    """Of a question, whose explanation may have been judged."""

    judged: bool | None
    agreement: Annotated[float, Field(ge=0, le=10)] | None
    judge: AgreementForm | None


class VerdictRecord(RecordForm):
    """The record of a question."""

    stratum: VerdictStratum  # type: ignore[assignment]
    fields: VerdictFields  # type: ignore[assignment]


class VerdictLine(LogLine):
    """The line of a question."""

    record: VerdictRecord


class ProbeFields(LogForm):
    """Of a question before which it was asked whether the action happened."""

    detection: str | None
    detected: bool | None


class ProbeRecord(RecordForm):
    """The record of such a question."""

    stratum: VerdictStratum  # type: ignore[assignment]
    fields: ProbeFields  # type: ignore[assignment]


class ProbeLine(LogLine):
    """The line of such a question."""

    record: ProbeRecord
