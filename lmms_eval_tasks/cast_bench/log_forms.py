"""What CaST-Bench's lines of a sample log have beyond those of every task."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from lmms_eval_tasks.api import RowForm
from lmms_eval_tasks.api.evidence import BoxConvention
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.cast_bench.open_ended import AgreementScores, ConsistencyScore

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class PairForm(LogForm):
    """A predicted and a true instance that were matched."""

    predicted: Count
    true: Count


class GroundingForm(LogForm):
    """The measures of `Grounding` that are scores, drawn or shown."""

    temporal_recall: Share
    tiou_tp_only: Share
    im_tiou: Share
    st_recall: Share
    viou_tp_only: Share
    im_viou: Share
    supported: bool
    supported_strict: bool
    false_positives: Count
    pairs: list[PairForm]


class ReadingForm(LogForm):
    """What was lost to format."""

    json_valid: bool
    schema_valid: bool
    recoverable: bool
    answered: str | None


class BoxesForm(LogForm):
    """How boxes were read."""

    convention: Annotated[BoxConvention, Field(strict=False)] | None = None
    seen: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None


class EvidenceFields(LogForm):
    """Of a question of the task `cast_bench`."""

    grounding: GroundingForm | None
    grounding_reason: str | None = None
    format: ReadingForm
    boxes: BoxesForm | None = None
    chosen_kind: str | None = None
    prompt: str | None = None


class HitsForm(RowForm):
    """When evidence counted as a hit: the fields of `GroundingSettings`, which the metrics file repeats."""

    eps_overlap: Count
    tau_t: Share
    tau_st: Share
    coverage_aware: bool


class EvidenceSubmission(LogForm):
    """What the files for the leaderboard need."""

    prompt: str
    predict: str
    asked: bool
    settings: HitsForm


EvidenceLine = log_line(EvidenceFields, submission=EvidenceSubmission | None)
"""The line of such a question."""


class JudgeForm(LogForm):
    """Who graded an answer."""

    model: str
    prompt: str
    consistency_prompt: str


class ScoresForm(AgreementScores, ConsistencyScore):
    """What an answer was given in each dimension."""

    model_config = ConfigDict(strict=True)


class OpenFields(LogForm):
    """Of a free answer."""

    scores: ScoresForm | None
    judge: JudgeForm | None = None
    prompt: str | None = None


OpenLine = log_line(OpenFields)
"""The line of a free answer."""
