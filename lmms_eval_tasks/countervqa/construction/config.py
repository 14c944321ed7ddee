"""The options of a build as a file: the same names as on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.countervqa.construction.questions import CANDIDATES
from lmms_eval_tasks.countervqa.construction.roles import SHARE
from lmms_eval_tasks.countervqa.construction.solving import FRAMES
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.graphs.encoders import TFIDF
from lmms_eval_tasks.utils.graphs.measures import Thresholds
from lmms_eval_tasks.utils.pipeline.config import ConfigPath, RoleSettings, read_config


class BuildOptions(BaseModel):
    """What a build is asked for; see `build` for what each is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    annotations: tuple[ConfigPath, ...] = ()
    links: ConfigPath | None = None
    takes: ConfigPath | None = None
    clips: ConfigPath | None = None
    encoder: str = TFIDF
    min_ancd: Annotated[float, Field(ge=0.0, le=1.0)] = Thresholds.ancd
    min_depth: Annotated[int, Field(ge=0)] = Thresholds.depth
    min_cnda: Annotated[float, Field(ge=0.0, le=2.0)] = Thresholds.cnda
    candidates: Annotated[int, Field(ge=1, le=1000)] = CANDIDATES
    own_rules: bool = True
    model: RoleSettings | str | None = None
    rephrase: bool = False
    pair_share: Annotated[float, Field(gt=0.0, le=1.0)] = SHARE
    naive: bool = False
    verify_with: tuple[RoleSettings | str, ...] = ()
    drop_solved_by: tuple[RoleSettings | str, ...] = ()
    frames: Annotated[int, Field(ge=1, le=1024)] = FRAMES
    seed: int = 0


def choose_options(config: Path | None, given: Mapping[str, Any]) -> BuildOptions:
    """The options of a configuration, those of the command line in their place.

    Args:
        config: The file; None for none.
        given: Option to its value; None where the command line has none.

    Raises:
        InputError: the file cannot be used, with every problem of it, or nobody says which annotations to take.
    """
    options = BuildOptions() if config is None else read_config(config, BuildOptions)[0]
    chosen = options.model_copy(update={name: value for name, value in given.items() if value is not None})
    if not chosen.annotations:
        raise InputError("Expected --annotations, the files with timed descriptions, but got none.")
    return chosen
