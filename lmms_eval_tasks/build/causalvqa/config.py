"""What a set of CausalVQA's kind is built from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lmms_eval_tasks.build.engine.config import BuildConfig, ConfigPath


class PairBuildConfig(BuildConfig):
    """The configuration of a build."""

    annotations: ConfigPath
    clips: ConfigPath
    frames: Annotated[int, Field(ge=1, le=256)] = 8
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    reviews: list[ConfigPath] = Field(default_factory=list)
    responses: ConfigPath | None = None
    difficulty: Literal["easy", "med", "hard"] | None = None

    @model_validator(mode="after")
    def _one_source_of_difficulty(self) -> PairBuildConfig:
        if (self.responses is None) == (self.difficulty is None):
            raise ValueError(
                "Expected either responses, from which each question's difficulty follows, or difficulty, which all "
                f"are to have, but got {'neither' if self.responses is None else 'both'}"
            )
        return self
