"""The `manifest.json` next to prepared tables: their contents, origin and attrition, and groups that a filter
removed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import escape_surrogates
from lmms_eval_tasks.utils.data.card import DataSet

ATTRITION = "attrition.json"
"""The file of a built set that has it."""

Count = Annotated[int, Field(ge=0)]


class AttritionStep(BaseModel, extra="forbid", frozen=True):
    step: str
    came: Count
    left: Count
    removed: dict[str, Count] = Field(default_factory=dict)


class SetAttrition(BaseModel, extra="forbid", frozen=True):
    start: str
    rows: Count
    steps: tuple[AttritionStep, ...]


def write_attrition(attrition: SetAttrition, folder: Path) -> None:
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


class FilteredLine(RowForm, extra="ignore"):
    """Line of a filter's file that says whether a group was removed; further columns give the reason."""

    task: WholeText
    group_id: WholeText
    removed: bool


@dataclass(frozen=True)
class RemovedGroups:
    """The groups that a filter removed, by task, and the name of its file."""

    name: str
    by_task: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class RemovedRows:
    """The same by what tasks ask: the split, and the subset of it, None where a task asks all rows."""

    name: str
    by_part: Mapping[tuple[str, str | None], frozenset[str]]

    def has(self, split: str, row: Mapping[str, Any]) -> bool:
        parts = ((split, None), (split, row.get("subset")))
        return any(row["group_id"] in self.by_part.get(part, ()) for part in parts)


def read_filter(path: Path) -> RemovedGroups:
    """Read the groups that a filter removed, by task; raises InputError with all lines of another form."""
    issues = Problems()
    lines = [line for _, line in read_rows(path, FilteredLine, issues, exact=False)]
    issues.raise_if_any(f"{path} is not what a filter wrote")
    tasks = dict.fromkeys(line.task for line in lines if line.removed)
    groups = {task: frozenset(line.group_id for line in lines if line.removed and line.task == task) for task in tasks}
    return RemovedGroups(path.name, groups)


SCHEMA: Literal[1] = 1


Utf8Text = Annotated[str, BeforeValidator(escape_surrogates)]
"""A text with names of files; bytes of them that are not UTF-8 are written as escapes."""


class MissingClip(BaseModel, extra="forbid", frozen=True):
    """A clip that a table names and that cannot be shown to a model."""

    clip: str
    reason: Literal["absent", "unreadable"]
    file: Utf8Text | None = Field(default=None, description="file of a source's own download that would hold it")


class SplitManifest(BaseModel, extra="forbid", frozen=True):
    """One prepared split, as `manifest.json` in the data home has it.

    Attributes:
        source: Where it was read from, as the user gave it.
        source_sha256: File of the source to its SHA-256 in hexadecimal.
        revision: The source's revision on the hub; None where it comes from elsewhere.
        data_set: What the set is: the official release, a part of it, a set of one's own, or sample data.
        answers_withheld: Whether no row has an answer.
        rows: Rows of the table.
        groups: Groups of rows that count only together.
        clips: Clips that rows name.
        missing: Those that cannot be shown, and why.
        warnings: What is unusual in it, a sentence each.
        table_sha256: SHA-256 of the table's file in hexadecimal.
        attrition: What each step of a build left; None where the set was not built, or has no file of it.
    """

    source: Utf8Text
    source_sha256: dict[Utf8Text, str] = Field(description="archive or metadata file to its SHA-256")
    revision: str | None = None
    data_set: DataSet
    answers_withheld: bool
    rows: int = Field(ge=1)
    groups: int = Field(ge=1)
    clips: int = Field(ge=1)
    missing: tuple[MissingClip, ...] = ()
    warnings: tuple[Utf8Text, ...] = ()
    table_sha256: str
    attrition: SetAttrition | None = None


class Manifest(BaseModel, extra="forbid", frozen=True):
    schema_version: Literal[1] = SCHEMA
    tool_version: str
    benchmark: str
    splits: dict[str, SplitManifest]
