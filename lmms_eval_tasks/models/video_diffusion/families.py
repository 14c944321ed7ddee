"""The table of known checkpoints: which adapter reads them and the size, frames and rate that they were made for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from lmms_eval_tasks.utils.core.problems import InputError

BUCKETS = ((480, 832), (832, 480), (480, 720), (720, 480), (544, 960), (960, 544), (720, 1280), (1280, 720))
"""Sizes (height, width) of most YoCausal Wan scripts, in their order."""


class WanScripts(BaseModel):
    """What the YoCausal Wan scripts use in place of the checkpoint's own numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    frames: int
    fps: float
    buckets: tuple[tuple[int, int], ...] = BUCKETS


class Family(BaseModel):
    """One row of the table.

    Attributes:
        name: What ``family=`` takes.
        title: The paper's name of the model.
        adapter: Which of `adapters.ADAPTERS` reads it.
        pretrained: Hub id of a checkpoint in diffusers' layout.
        single_file: Address of the denoiser's and VAE's weights where they are one file of their own.
        height: Of a frame, in pixels.
        width: Of a frame, in pixels.
        frames: Frames per window.
        fps: Frames per second that the model makes.
        text_tokens: Length of the caption in tokens; longer ones are cut, as the model's own pipeline does.
        vae_dtype: Precision of the VAE where it is not the run's.
        train_shift: Shift of the training timesteps, for ``protocol=wan_scripts``.
        wan_scripts: What the YoCausal Wan scripts use instead, for ``protocol=wan_scripts``.
        options: What only this adapter reads.
        source: Where the row's numbers come from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    adapter: str
    pretrained: str
    single_file: str | None = None
    height: int
    width: int
    frames: int
    fps: float
    text_tokens: int
    vae_dtype: str | None = None
    train_shift: float = 1.0
    wan_scripts: WanScripts | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    source: str


@cache
def known_families() -> dict[str, Family]:
    """All rows of the table by name, in its order."""
    text = (resources.files(__package__) / "families.json").read_text(encoding="utf-8")
    return {family.name: family for family in TypeAdapter(list[Family]).validate_json(text)}


def read_family(name: str) -> Family:
    """The row of a family.

    Raises:
        InputError: there is none of that name; the message lists all families.
    """
    families = known_families()
    if name not in families:
        raise InputError(f"Expected family to be one of {', '.join(families)}, but got {name!r}.")
    return families[name]
