"""What was prepared, from what: the `manifest.json` beside the prepared tables."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lmms_eval_tasks.utils.benchmark.data_set import DataSet, SetKind
from lmms_eval_tasks.utils.core.files import BLOCK, read_blocks
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.attrition import SetAttrition

SCHEMA: Literal[1] = 1


def _as_utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


Utf8Text = Annotated[str, BeforeValidator(_as_utf8)]
"""A text with names of files; bytes of them that are not UTF-8 are written as escapes."""


class MissingClip(BaseModel):
    """A clip that a table names and that cannot be shown to a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clip: str
    reason: Literal["absent", "unreadable"]
    file: Utf8Text | None = Field(default=None, description="file of a source's own download that would hold it")


class SplitManifest(BaseModel):
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

    model_config = ConfigDict(extra="forbid", frozen=True)

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

    @model_validator(mode="before")
    @classmethod
    def _read_earlier(cls, value: Any) -> Any:
        """Of what an earlier version wrote, the set is known where it was sample data."""
        if not isinstance(value, dict) or "data_set" in value or not isinstance(value.get("sample"), bool):
            return value
        kept = {name: field for name, field in value.items() if name != "sample"}
        kind = SetKind.SAMPLE if value["sample"] else SetKind.UNKNOWN
        return {**kept, "data_set": {"kind": kind, "items": value.get("rows")}}


class Manifest(BaseModel):
    """All prepared splits of one benchmark."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = SCHEMA
    tool_version: str
    benchmark: str
    splits: dict[str, SplitManifest]


def file_sha256(path: Path, progress: Progress = no_progress) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    size, done = path.stat().st_size, 0
    for block in read_blocks(path):
        digest.update(block)
        done += len(block)
        progress(f"{path.name}: computing SHA-256 (MiB)", done // BLOCK, size // BLOCK)
    return digest.hexdigest()
