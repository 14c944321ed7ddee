"""What a set of CaST-Bench's kind is built from, and with which limits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lmms_eval_tasks.build.engine.config import BuildConfig, ConfigPath

SELECTOR, DESCRIBER, WRITER = "selector", "describer", "writer"
TEXT_WRITER, VIDEO_WRITER, NEAR_MISS_WRITER, CHECKER = "text_distractor", "video_distractor", "near_miss", "checker"
BLIND_SOLVER, MASKED_SOLVER = "blind_solver", "masked_solver"


class CastBenchConfig(BuildConfig):
    """The configuration of `build`."""

    clips: ConfigPath
    tracks: ConfigPath
    masklets: Literal["manual", "auto", "both"] = "both"
    descriptions: ConfigPath | None = None
    revisions: ConfigPath | None = None
    questions: int = Field(default=6, ge=1, le=16)
    tries: int = Field(default=3, ge=1, le=10)
    frames: int = Field(default=16, ge=1, le=256)
    side: int = Field(default=768, ge=64, le=4096)
    largest_jump: float = Field(default=0.06, gt=0.0, le=1.0)
    largest_shake: float = Field(default=0.01, gt=0.0, le=1.0)
    largest_blur: float = Field(default=0.6, gt=0.0, le=1.0)
