"""Fields of YoCausal's lines of a sample log beyond those of every task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.yocausal.rsi import Winner

STRATUM = ("subset",)
"""The stratum over which scores are a mean."""


class LossForm(LogForm):
    """The losses of a pair."""

    forward: float
    backward: float


class StepsForm(LogForm):
    """The losses of each direction at each timestep."""

    forward: list[float]
    backward: list[float]

    def require_one_each(self, timesteps: Sequence[float]) -> None:
        """Raise ValueError unless each direction has one loss for each timestep."""
        if not len(self.forward) == len(self.backward) == len(timesteps):
            raise ValueError("Expected a loss at each timestep")


class PairFields(LogForm):
    """Of a pair that a video diffusion model measured."""

    vlm_causality: bool | None
    human_discriminable: bool | None
    motion_symmetric: bool | None
    loss: LossForm | None = None
    steps: StepsForm | None = None
    timesteps: list[float] = Field(default_factory=list)
    model: str | None = None
    settings_digest: str | None = None

    @model_validator(mode="after")
    def _as_many_as_timesteps(self) -> PairFields:
        (self.steps or StepsForm(forward=[], backward=[])).require_one_each(self.timesteps)
        return self


class LossSubmission(LogForm):
    """Fields of a pair that the result file needs."""

    item_id: str
    forward: float
    backward: float
    steps: StepsForm
    timesteps: list[float]
    settings: dict[str, Any]
    digest: str
    versions: dict[str, str]

    @model_validator(mode="after")
    def _as_many_as_timesteps(self) -> LossSubmission:
        self.steps.require_one_each(self.timesteps)
        return self


def _without_record(value: object) -> object:
    """Return the values logged for the file besides the record; None if there are none, as for a pair without
    losses."""
    return None if isinstance(value, dict) and not value.keys() - {"record"} else value


PairLine = log_line(
    PairFields,
    STRATUM,
    answered=Annotated[Winner, Field(strict=False)] | None,
    submission=Annotated[LossSubmission | None, BeforeValidator(_without_record)],
)
"""The line of such a pair."""


class DirectionFields(LogForm):
    """Of a clip whose direction was answered in words."""

    human_credit: Annotated[float, Field(ge=0, le=100)] | None


DirectionLine = log_line(DirectionFields, STRATUM)
"""The line of such a clip."""
