"""The table of known checkpoints, and what a user may choose about a run: checked before anything is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.host.model.identity import weights_identity
from lmms_eval_tasks.models.base import Arguments, Words, read_arguments
from lmms_eval_tasks.models.video_diffusion.protocol import PROTOCOLS, Protocol, nearest_bucket
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import OneOf, RowForm

BUCKETS = ((480, 832), (832, 480), (480, 720), (720, 480), (544, 960), (960, 544), (720, 1280), (1280, 720))
"""Sizes (height, width) of most YoCausal Wan scripts, in their order."""
ENGINE = 1
"""Moves when the same settings would give other losses, so that no answer cached before is used."""


_NO_NAME = re.compile(
    r"(?:(?:global_?)?(?:checkpoint|ckpt|epoch|iter|iteration|model|run|step|version|v)s?)?[-_. \d]*|[0-9a-f]{40}"
    r"|best|diffusers|final|last|latest|out|output|outputs|pipeline|weights",
    re.IGNORECASE,
)
"""Names of folders that any model's weights could lie in; those of the hub's cache are named by a commit."""


class WanScripts(RowForm):
    """Numbers that the YoCausal Wan scripts use in place of the checkpoint's own."""

    frames: int
    fps: float
    buckets: tuple[tuple[int, int], ...] = BUCKETS


class Family(RowForm):
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
    text = (resources.files(__package__) / "families.json").read_text(encoding="utf-8")
    return {family.name: family for family in TypeAdapter(list[Family]).validate_json(text)}


Size = Annotated[int, Field(gt=0)]
Batch = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(lambda value: None if value == "auto" else value)]


class DenoisingSettings(Arguments):
    """Arguments of `video_diffusion`; sizes, frames and weights are the family's where nothing else is chosen."""

    family: Annotated[Family, BeforeValidator(lambda name: known_families()[name]), OneOf([*known_families()])] = Field(
        default="", validate_default=True
    )
    batch: Batch = None
    """The number of noisy clips denoised at once; None is ``auto``."""
    offload: Annotated[str, OneOf(("false", "true", "layers")), BeforeValidator(str)] = "false"
    compile: bool = False
    decode_workers: Any = None
    cache: Words | None = None
    pretrained: Words = ""
    revision: Words | None = None
    name: Words = Field(default="", validate_default=True)
    protocol: Annotated[Protocol, BeforeValidator(PROTOCOLS.get), OneOf([*PROTOCOLS])] = PROTOCOLS["paper"]
    target: Annotated[str, OneOf(("training", "noise"))] = "training"
    prompt: Annotated[str, OneOf(("forward", "null"))] = "forward"
    dtype: Annotated[str, OneOf(("bfloat16", "float32", "float16"))] = "bfloat16"
    seed: Annotated[int, Field(ge=0)] = 0
    height: Size = 0
    width: Size = 0
    frames: Size = 0
    fps: Annotated[float, Field(gt=0)] = 0.0
    tiling: bool = False
    buckets: tuple[tuple[int, int], ...] = Field(default=(), init=False)
    """Sizes (height, width) of which each clip takes the one that suits it."""

    @model_validator(mode="before")
    @classmethod
    def _fill_up(cls, given: dict[str, Any]) -> dict[str, Any]:
        family = known_families().get(str(given.get("family")).strip().lower())
        if family is None:
            return given
        scripts = family.wan_scripts if given.get("protocol") == "wan_scripts" else None
        own = {name: getattr(family, name) for name in ("pretrained", "height", "width", "frames", "fps")}
        if scripts:
            own |= {"frames": scripts.frames, "fps": scripts.fps}
            if given.keys().isdisjoint(("height", "width")):
                own["buckets"] = scripts.buckets
        return {**own, **given}

    @field_validator("name")
    @classmethod
    def _name_weights(cls, name: str, info: ValidationInfo) -> str:
        """The name of the weights: the paper's name for the family's own, else their hub id or that of their folder."""
        family, pretrained = info.data.get("family"), info.data["pretrained"]
        if name.strip() or family is None:
            return name.strip()
        if pretrained == family.pretrained:
            return str(family.title)
        folder = Path(pretrained).expanduser()
        name = folder.resolve().name if folder.is_dir() else pretrained
        if folder.is_dir() and _NO_NAME.fullmatch(name):
            raise PydanticCustomError(
                "unnamed",
                "Expected a name for the weights, for {weights} does not give one. "
                "Remedy: name=NAME, as rankings and the result file shall show them.",
                {"weights": pretrained},
            )
        return name

    @property
    def own_weights(self) -> bool:
        return self.pretrained != self.family.pretrained

    @property
    def vae_dtype(self) -> str:
        return self.family.vae_dtype or self.dtype

    def size_for(self, height: int, width: int) -> tuple[int, int]:
        """Height and width at which a clip of a size is shown."""
        return nearest_bucket(height, width, self.buckets) if self.buckets else (self.height, self.width)

    def as_json(self) -> dict[str, Any]:
        """Return the settings that fix the losses, as JSON values; ``model`` is the family's title, whatever the
        weights are called."""
        return {
            "engine": ENGINE,
            "family": self.family.name,
            "model": self.family.title,
            "adapter": self.family.adapter,
            "options": dict(self.family.options),
            "pretrained": self.pretrained,
            "revision": self.revision,
            "weights": weights_identity(self.pretrained, self.revision),
            "single_file": None if self.own_weights else self.family.single_file,
            "protocol": self.protocol.name,
            "steps": self.protocol.steps,
            "draws": self.protocol.draws,
            "combine": self.protocol.combine,
            "target": self.target,
            "prompt": self.prompt,
            "dtype": self.dtype,
            "vae_dtype": self.vae_dtype,
            "seed": self.seed,
            "height": None if self.buckets else self.height,
            "width": None if self.buckets else self.width,
            "buckets": [list(size) for size in self.buckets],
            "frames": self.frames,
            "fps": self.fps,
            "text_tokens": self.family.text_tokens,
            "tiling": self.tiling,
        }


def read_settings(family: str, arguments: Mapping[str, Any]) -> DenoisingSettings:
    return read_arguments(DenoisingSettings, {"family": family, **arguments}, "video_diffusion")


def check_geometry(settings: DenoisingSettings, temporal_compression: int, size_multiple: int) -> DenoisingSettings:
    problems = Problems()
    frames, step = settings.frames, temporal_compression
    if frames % step != 1 % step or frames <= step:
        nearest = max(1, round((frames - 1) / step)) * step + 1
        problems.add(
            "frames", f"Expected 1 more than a multiple of {step}, but got {frames}.", remedy=f"frames={nearest}"
        )
    for name, value in (("height", settings.height), ("width", settings.width)):
        if value % size_multiple and not settings.buckets:
            nearest = max(1, round(value / size_multiple)) * size_multiple
            problems.add(name, f"Expected a multiple of {size_multiple}, but got {value}.", remedy=f"{name}={nearest}")
    problems.raise_if_any(f"{settings.family.title} cannot be run as asked")
    fitting = tuple(size for size in settings.buckets if size[0] % size_multiple == size[1] % size_multiple == 0)
    return settings.model_copy(update={"buckets": fitting})
