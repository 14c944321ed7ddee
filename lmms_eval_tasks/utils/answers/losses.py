"""Losses as answers, in JSON text: denoising losses of a pair of clips, or one loss for each clip shown."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

DENOISING_READER = "denoising reader 2"
"""Name and version of what reads such answers, for a run's card: the version moves when it reads any otherwise."""

Value = TypeVar("Value")
Answer = TypeVar("Answer", bound="LossAnswer")


class StrictForm(BaseModel):
    """Base of the parts of an answer: exactly its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class LossAnswer(StrictForm):
    """Base of the answers of models that measure losses: what fixes the numbers, and their text."""

    if TYPE_CHECKING:  # a field here would come first in the text of every answer
        settings: dict[str, JsonValue]

    def named(self: Answer, name: str) -> Answer:
        return self.model_copy(update={"settings": {**self.settings, "model": name}})

    def to_json(self) -> str:
        """The answer as JSON text, the same bytes for the same answer."""
        return self.model_dump_json()


class Directed(StrictForm, Generic[Value]):
    forward: Value
    backward: Value


class ItemError(StrictForm):
    """Reason why an item has no losses: a word for programs and a sentence for people."""

    kind: str
    message: str


class WindowRecord(StrictForm):
    """A window of the clip: positions, borrowed frames, and latent frames out of and in the loss."""

    start: int
    stop: int
    borrowed: int
    skipped: int
    latents: int


class FramesRecord(StrictForm):
    """Record of how the frames of the files were converted to those of the model."""

    forward: int
    backward: int
    file_fps: float
    used: int
    fps: float
    height: int
    width: int


class DenoisingResponse(LossAnswer):
    """A model's answer about one pair: its losses, or an error in their place.

    Attributes:
        schema_version: 1.
        item_id: The pair.
        error: Why there are no losses, as ``kind`` and ``message``; None where there are. Kinds are ``no_clip``,
            ``unreadable_clip``, ``unequal_clips``, ``short_clip``, ``no_caption``, ``out_of_memory`` and ``failed``.
        loss: The loss of each direction, ``forward`` and ``backward``, combined over windows and timesteps by the
            protocol's rule; None with an error.
        losses: For each direction ``[window][timestep]``, averaged over noise draws; None with an error, or where a
            loss alone is known, which then has no timesteps and no windows.
        timesteps: On a scale of 0 (clean) to 1000 (noise).
        windows: Of each window the positions of its first frame and after its last (``start``, ``stop``), how many
            frames it borrows from earlier, and how many of its latent frames are skipped and count (``latents``).
        seeds: ``[window][timestep][draw]``, the seeds of the noise that both directions saw.
        frames: How the files' frames became the model's: numbers of frames, frames per second, height and width in
            pixels.
        settings: What fixes the numbers, such as checkpoint, protocol, prompt and precision, and the name of the
            ``model``.
        settings_digest: 16 hexadecimal digits of the SHA-256 of what fixes the numbers.
        versions: Of the package, torch, diffusers and transformers.
    """

    schema_version: Literal[1] = 1
    item_id: str
    error: ItemError | None = None
    loss: Directed[float] | None = None
    losses: Directed[list[list[float]]] | None = None
    timesteps: list[float] = Field(default_factory=list)
    windows: list[WindowRecord] = Field(default_factory=list)
    seeds: list[list[list[int]]] = Field(default_factory=list)
    frames: FramesRecord | None = None
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    settings_digest: str = ""
    versions: dict[str, str] = Field(default_factory=dict)


def read_denoising(text: object) -> DenoisingResponse | None:
    """Read an answer, given as JSON text; None where it is not one. Nothing raises an error.

    An answer with neither a loss nor an error is not one, nor is one whose losses are not a number for each of its
    windows and timesteps, from which `loss` could have come.
    """
    answer = _read(DenoisingResponse, text)
    if answer is None or answer.loss is None:
        return answer if answer and answer.error else None
    return answer if _is_whole(answer) else None


def _read(form: type[Answer], text: object) -> Answer | None:
    try:
        return form.model_validate_json(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _is_whole(answer: DenoisingResponse) -> bool:
    if answer.losses is None:
        return not (answer.timesteps or answer.windows)
    if not answer.timesteps or not any(window.latents > 0 for window in answer.windows):
        return False
    tables = (answer.losses.forward, answer.losses.backward)
    return all(
        len(table) == len(answer.windows) and all(len(row) == len(answer.timesteps) for row in table)
        for table in tables
    )


def settings_digest(settings: Mapping[str, Any]) -> str:
    """16 hexadecimal digits that change with any setting; the order of the keys does not matter."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    answer = _read(ClipLosses, text)
    return answer if answer and (answer.losses is None or len(answer.losses) == clips) else None


def lowest_clip(losses: Sequence[float]) -> str:
    """The letter of the clip with the lowest loss, ``A`` for the first.

    ``tie`` where several have it, and ``non-finite`` where any loss is NaN or infinite: neither is a win.
    """
    if not all(map(math.isfinite, losses)):
        return NON_FINITE
    lowest = [place for place, loss in enumerate(losses) if loss == min(losses)]
    return ascii_uppercase[lowest[0]] if len(lowest) == 1 else TIE


def losses_of(clips: Sequence[str], losses: Mapping[str, float], item_id: str, is_pair: bool) -> str | None:
    """The answer of a model that measured these losses of clips; None where a clip's loss lacks.

    Args:
        clips: Names of an item's clips, in the order in which they are shown.
        losses: A loss by the name of its clip.
        item_id: The item.
        is_pair: Whether the task takes losses of a clip and its reversal, or else of any clips.
    """
    if any(clip not in losses for clip in clips):
        return None
    found = [losses[clip] for clip in clips]
    if is_pair:
        return DenoisingResponse(item_id=item_id, loss=Directed(forward=found[0], backward=found[1])).to_json()
    return ClipLosses(losses=found).to_json()


def guess_losses(clips: int) -> tuple[str, ...]:
    """The answers of somebody who saw nothing of so many clips: each of them in turn has the lowest loss."""
    return tuple(json.dumps({"losses": [int(clip != lowest) for clip in range(clips)]}) for lowest in range(clips))


def combine_losses(losses: Sequence[Sequence[float]], latents: Sequence[int], rule: str) -> float:
    """One loss of a clip from the losses of its windows and timesteps; not finite where one of them is not.

    Args:
        losses: ``losses[window][timestep]``, each a mean over what counts in that window.
        latents: Latent frames that count, per window.
        rule: ``latents``: every counted latent frame weighs the same. ``sum``: windows are added up, timesteps
            averaged (the official base class). ``windows``: every window weighs the same (the Wan scripts). Any other
            is taken for ``windows``.

    Returns:
        The loss, averaged over timesteps, in the unit of the model's own.
    """
    table = np.asarray(losses, dtype=np.float64)
    if rule == "sum":
        return float(table.sum(axis=0).mean())
    weights = np.asarray(latents, dtype=np.float64) if rule == "latents" else np.ones(len(table))
    return float((weights[:, None] * table).sum(axis=0).mean() / weights.sum())


def combine_by_timestep(losses: Sequence[Sequence[float]], latents: Sequence[int], rule: str) -> list[float]:
    """The loss of a clip at each timestep, from those of its windows; arguments as of `combine_losses`."""
    return [combine_losses([[loss] for loss in step], latents, rule) for step in zip(*losses, strict=True)]
