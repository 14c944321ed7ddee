"""What weights were trained on: a small JSON file beside them, which a run card of their evaluation names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError

TRAINED_ON = "trained_on.json"


class Stage(BaseModel):
    """One training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str
    data: dict[str, str]
    items: int = Field(ge=1)
    clips: int = Field(ge=1)
    rows_sha256: str
    options: dict[str, Any]
    steps: int | None = None
    all_steps: int | None = None

    @property
    def progress(self) -> str:
        """How far it went, for a run card."""
        return "not finished" if self.steps is None else f"{self.steps} of {self.all_steps} steps"


class TrainedOn(BaseModel):
    """The trainings that made weights, the first one first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str
    stages: tuple[Stage, ...] = Field(min_length=1)
    compared_with: tuple[str, ...]
    tool_version: str

    def summary(self) -> str:
        """One line for a run card."""
        stages = "; then ".join(
            f"{stage.method} on {stage.items:,} questions about {stage.clips:,} clips "
            f"(rows {stage.rows_sha256[:12]}), {stage.progress}"
            for stage in self.stages
        )
        compared = ", ".join(self.compared_with) or "no test set"
        return f"{self.base}: {stages}; clips compared with {compared}"

    def write(self, folder: Path) -> None:
        """Write it into a folder of weights."""
        write_file(folder / TRAINED_ON, json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def read_trained_on(folder: Path) -> TrainedOn | None:
    """What the weights in a folder were trained on; None where nothing says so."""
    path = folder / TRAINED_ON
    if not path.is_file():
        return None
    try:
        return TrainedOn.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be used: Expected what `train … export` writes.") from error
