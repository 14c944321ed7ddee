"""What a model answers that gives a loss for each clip that it is shown, as JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from lmms_eval_tasks.utils.denoising.response import ItemError, LossAnswer

CLIP_LOSSES_READER = "clip losses reader 1"
"""Name and version of what reads such answers, for a run's card: the version moves when it reads any otherwise."""
NAMED = ("NaN", "Infinity", "-Infinity")
TIE = "tie"
"""What stands in place of a clip where several have the lowest loss."""
NON_FINITE = "non-finite"
"""What stands in place of a clip where a loss is NaN or infinite."""


def _number(value: object) -> object:
    """A number as it is, and the names of those that are not finite; nothing else is taken for one."""
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or value in NAMED):
        raise ValueError("Expected a number")
    return value


Loss = Annotated[float, BeforeValidator(_number)]


class ClipLosses(LossAnswer):
    """A model's answer about the clips that it was shown: a loss for each, or an error in their place."""

    losses: Annotated[list[Loss], Field(min_length=1)] | None = None
    error: ItemError | None = None
    timesteps: list[Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=list)
    curves: list[list[Loss]] = Field(default_factory=list)
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    settings_digest: str = ""
    details: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_whole(self) -> ClipLosses:
        if (self.losses is None) == (self.error is None):
            raise ValueError("Expected losses, or an error in their place")
        if len(self.curves) != (len(self.losses or ()) if self.timesteps else 0):
            raise ValueError("Expected a curve for each clip where there are timesteps")
        if any(len(curve) != len(self.timesteps) for curve in self.curves):
            raise ValueError("Expected a loss for each timestep")
        return self


def read_clip_losses(text: object, clips: int) -> ClipLosses | None:
    """Read an answer about so many clips, given as JSON text; None where it is not one. Nothing raises an error."""
    if not isinstance(text, str):
        return None
    try:
        answer = ClipLosses.model_validate_json(text)
    except (ValueError, RecursionError):
        return None
    return answer if answer.losses is None or len(answer.losses) == clips else None


def lowest_clip(losses: Sequence[float]) -> str:
    """The letter of the clip with the lowest loss, ``A`` for the first.

    ``tie`` where several have it, and ``non-finite`` where any loss is NaN or infinite: neither is a win.
    """
    if not all(map(math.isfinite, losses)):
        return NON_FINITE
    lowest = [place for place, loss in enumerate(losses) if loss == min(losses)]
    return ascii_uppercase[lowest[0]] if len(lowest) == 1 else TIE


def guess_losses(clips: int) -> tuple[str, ...]:
    """The answers of somebody who saw nothing of so many clips: each of them in turn has the lowest loss."""
    return tuple(json.dumps({"losses": [int(clip != lowest) for clip in range(clips)]}) for lowest in range(clips))
