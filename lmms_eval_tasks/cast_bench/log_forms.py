"""Fields of CaST-Bench's lines of a sample log beyond those of every task."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_tasks.api.evidence import EvidenceFields
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.cast_bench.open_ended import AgreementScores, ConsistencyScore

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class CastFields(EvidenceFields):
    """Of a question of the task `cast_bench`."""

    chosen_kind: str | None = None


class HitsForm(RowForm):
    """Thresholds for counting evidence as a hit: the fields of `GroundingSettings`, which the metrics file repeats."""

    eps_overlap: Count
    tau_t: Share
    tau_st: Share
    coverage_aware: bool


class EvidenceSubmission(LogForm):
    """Data needed for the leaderboard's files."""

    prompt: str
    predict: str
    asked: bool
    settings: HitsForm


EvidenceLine = log_line(CastFields, submission=EvidenceSubmission | None)
"""The line of such a question."""


class JudgeForm(LogForm):
    """Judge that graded an answer."""

    model: str
    prompt: str
    consistency_prompt: str


class ScoresForm(AgreementScores, ConsistencyScore):
    """Scores of an answer in each dimension."""

    model_config = ConfigDict(strict=True)


class OpenFields(LogForm):
    """Of a free answer."""

    scores: ScoresForm | None
    judge: JudgeForm | None = None
    prompt: str | None = None


OpenLine = log_line(OpenFields)
"""The line of a free answer."""
