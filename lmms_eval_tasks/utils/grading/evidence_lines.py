"""The forms of what a sample log holds of an option with its evidence."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.utils.evidence.boxes import BoxConvention
from lmms_eval_tasks.utils.scoring.log_forms import LogForm

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
    """What the scores and pictures need of a record that `grade_evidence` made."""

    grounding: GroundingForm | None
    grounding_reason: str | None = None
    format: ReadingForm
    matching: str | None = None
    boxes: BoxesForm | None = None
    prompt: str | None = None
