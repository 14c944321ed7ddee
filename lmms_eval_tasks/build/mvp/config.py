"""The file by which a build is described."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.build.curation.shortcuts import FRAME_SHARE, MODEL_SHARE
from lmms_eval_tasks.build.engine.config import BuildConfig, ConfigPath

Share = Annotated[float, Field(gt=0.0, le=1.0)]


class FrameFilter(BaseModel):
    """How pairs that single frames solve are found; the shares are the paper's, which asked five models.

    Attributes:
        roles: The models that are asked, by their roles.
        frames: Frames of a clip that each is asked about, at equal distances.
        model_share: A frame is solvable where at least this share of the models is right.
        frame_share: A pair goes where at least this share of the frames of each clip is solvable.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: Annotated[tuple[str, ...], Field(min_length=1)] = ("single_frame",)
    frames: Annotated[int, Field(ge=1, le=64)] = 1
    model_share: Share = MODEL_SHARE
    frame_share: Share = FRAME_SHARE


class MvpBuildConfig(BuildConfig):
    """What is built from, and how.

    Attributes:
        annotations: Files of annotated clips, .csv or .jsonl.
        videos: Folder with the clips.
        embeddings: Vectors of the clips, as `mine embed` writes them.
        ids: The clips of the rows of an .npy file of vectors.
        split: The split of the release that is written.
        rule: Which answers exclude each other, beside what a model says: see `mine pairs`.
        others: How many other annotations a model chooses contrasts from.
        contrasts: How many contrasts of an annotation are asked about, at most.
        tries: How often a question is written, the rules' objections in sight.
        single_frame: The filter of pairs that single frames solve.
        per_skill: The most pairs of a skill.
        total: The most pairs in all; skills take turns.
    """

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
