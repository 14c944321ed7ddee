"""The file by which a build is described."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.build.curation.shortcuts import FRAME_SHARE, MODEL_SHARE
from lmms_eval_tasks.build.engine.config import BuildConfig, ConfigPath

Share = Annotated[float, Field(gt=0.0, le=1.0)]


class FrameFilter(BaseModel):
    """Settings for finding pairs that single frames solve; the shares are the paper's, which asked five models."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: Annotated[tuple[str, ...], Field(min_length=1)] = ("single_frame",)
    frames: Annotated[int, Field(ge=1, le=64)] = 1
    model_share: Share = MODEL_SHARE
    frame_share: Share = FRAME_SHARE


class MvpBuildConfig(BuildConfig):
    """Sources and settings of a build."""

    annotations: Annotated[tuple[ConfigPath, ...], Field(min_length=1)]
    videos: ConfigPath
    embeddings: ConfigPath
    ids: ConfigPath | None = None
    split: Literal["mini", "full"] = "mini"
    rule: str = "differ"
    others: Annotated[int, Field(ge=1, le=100)] = 12
    contrasts: Annotated[int, Field(ge=1, le=20)] = 3
    tries: Annotated[int, Field(ge=1, le=10)] = 2
    single_frame: FrameFilter = FrameFilter()
    per_skill: Annotated[int, Field(ge=1)] | None = None
    total: Annotated[int, Field(ge=1)] | None = None
