"""The table of known checkpoints, and what a user may choose about a run: checked before anything is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from lmms_eval_tasks.host.model.identity import weights_identity
from lmms_eval_tasks.models.video_diffusion.protocol import PROTOCOLS, Protocol, nearest_bucket
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import unknown_argument

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


class WanScripts(BaseModel):
    """Numbers that the YoCausal Wan scripts use in place of the checkpoint's own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    frames: int
    fps: float
    buckets: tuple[tuple[int, int], ...] = BUCKETS


class Family(BaseModel):
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
    text = (resources.files(__package__) / "families.json").read_text(encoding="utf-8")
    return {family.name: family for family in TypeAdapter(list[Family]).validate_json(text)}


def read_family(name: str) -> Family:
    families = known_families()
    if name not in families:
        raise InputError(f"Expected family to be one of {', '.join(families)}, but got {name!r}.")
    return families[name]


@dataclass(frozen=True)
class DenoisingSettings:
    """A run's choices; by default the family's, or the first value named here."""

    family: Family
    pretrained: str
    revision: str | None
    name: str
    protocol: Protocol
    target: str
    prompt: str
    dtype: str
    seed: int
    height: int
    width: int
    frames: int
    fps: float
    tiling: bool
    buckets: tuple[tuple[int, int], ...] = ()

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


CHOICES = tuple(field.name for field in fields(DenoisingSettings) if field.name not in ("family", "buckets"))
"""What `read_settings` takes besides the family."""


def read_settings(family: str, arguments: Mapping[str, Any]) -> DenoisingSettings:
    row = read_family(family)
    problems = Problems()
    chosen = {name: value for name, value in arguments.items() if value is not None}
    for name in sorted(chosen.keys() - set(CHOICES)):
        problems.add(name, unknown_argument(name, CHOICES))

    def choose(name: str, default: Any, allowed: Callable[[Any], bool], expected: str) -> Any:
        value = chosen.get(name, default)
        if not allowed(value):
            problems.add(name, f"Expected {expected}, but got {value!r}.")
            return default
        return value

    def one_of(name: str, *allowed: str) -> str:
        return str(choose(name, allowed[0], lambda value: str(value) in allowed, f"one of {', '.join(allowed)}"))

    def positive(name: str, default: float) -> float:
        return float(choose(name, default, lambda value: _is_number(value) and value > 0, "a number above 0"))

    pretrained = str(chosen.get("pretrained", row.pretrained))
    name = str(chosen.get("name", "")).strip() or _name_of_weights(row, pretrained)
    if not name:
        problem = f"Expected what the weights are to be called, for {pretrained} does not say."
        problems.add("name", problem, remedy="name=NAME, as rankings and the result file shall show them.")
    protocol = PROTOCOLS[one_of("protocol", *PROTOCOLS)]
    scripts = row.wan_scripts if protocol.name == "wan_scripts" else None
    default = scripts or row
    settings = DenoisingSettings(
        family=row,
        pretrained=pretrained,
        revision=str(chosen["revision"]) if "revision" in chosen else None,
        name=name,
        protocol=protocol,
        target=one_of("target", "training", "noise"),
        prompt=one_of("prompt", "forward", "null"),
        dtype=one_of("dtype", "bfloat16", "float32", "float16"),
        height=int(positive("height", row.height)),
        width=int(positive("width", row.width)),
        frames=int(positive("frames", default.frames)),
        fps=positive("fps", default.fps),
        seed=choose("seed", 0, lambda value: type(value) is int and value >= 0, "a whole number from 0"),
        tiling=choose("tiling", False, lambda value: isinstance(value, bool), "true or false"),
        buckets=scripts.buckets if scripts and chosen.keys().isdisjoint(("height", "width")) else (),
    )
    problems.raise_if_any(f"{row.title} cannot be run as asked")
    return settings


def _name_of_weights(family: Family, pretrained: str) -> str:
    """Return the name of weights: the paper's name for the family's own, else their hub id or the name of their
    folder."""
    if pretrained == family.pretrained:
        return family.title
    folder = Path(pretrained).expanduser()
    if not folder.is_dir():
        return pretrained
    name = folder.resolve().name
    return "" if _NO_NAME.fullmatch(name) else name


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
    return replace(settings, buckets=fitting)


def read_batch(value: object) -> int | None:
    """Read the number of noisy clips denoised at once, or None for ``auto``."""
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"Expected batch to be auto or a whole number from 1, but got {value!r}.")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
