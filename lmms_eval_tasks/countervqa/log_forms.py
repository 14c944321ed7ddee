"""Fields of CounterVQA's lines of a sample log beyond those of every task."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.api.runs import LogForm, log_line

STRATUM = ("interaction", "level", "rule")
"""The cell of the paper's table, and the rule that made the question."""


class AgreementForm(LogForm):
    """Judge of an explanation, and the reason if it could not be judged."""

    model: str
    prompt: str
    reason: str | None


class VerdictFields(LogForm):
    """Of a question, whose explanation may have been judged."""

    judged: bool | None
    agreement: Annotated[float, Field(ge=0, le=10)] | None
    judge: AgreementForm | None


class ProbeFields(LogForm):
    """Of a question before which it was asked whether the action happened."""

    detection: str | None
    detected: bool | None


VerdictLine = log_line(VerdictFields, STRATUM)
"""The line of a question."""
ProbeLine = log_line(ProbeFields, STRATUM)
"""The line of a question with such a probe."""
