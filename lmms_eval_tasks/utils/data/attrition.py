"""How many rows each step of a build left: `build` writes it beside the set, and the manifest keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError

ATTRITION = "attrition.json"
"""The file of a built set that has it."""

Count = Annotated[int, Field(ge=0)]


class AttritionStep(BaseModel):
    """A step of a build."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str
    came: Count
    left: Count
    removed: dict[str, Count] = Field(default_factory=dict)


class SetAttrition(BaseModel):
    """The steps of a build."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: str
    rows: Count
    steps: tuple[AttritionStep, ...]


def write_attrition(attrition: SetAttrition, folder: Path) -> None:
    """Write it into the folder of a built set."""
    text = json.dumps(attrition.model_dump(mode="json"), ensure_ascii=False, indent=1)
    write_file(folder / ATTRITION, text + "\n")


def read_attrition(source: str | Path) -> SetAttrition | None:
    """The attrition of the set that is prepared from a source; None where no file has it."""
    path = Path(source).expanduser()
    file = (path if path.is_dir() else path.parent) / ATTRITION
    if not file.is_file():
        return None
    try:
        return SetAttrition.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{file} cannot be read as the steps of a build, and nothing was prepared.\n"
            "Remedy: build the set again, or delete the file."
        ) from error
