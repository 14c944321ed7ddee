"""A prepared set: its `manifest.json` with origin and attrition, groups that a filter removed, and what the set is."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import escape_surrogates
from lmms_eval_tasks.utils.data.card import Card, DataSet, SetKind, SplitFacts

if TYPE_CHECKING:
    import pyarrow

ATTRITION = "attrition.json"
"""The file of a built set that has it."""


class AttritionStep(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str
    came: NonNegativeInt
    left: NonNegativeInt
    removed: dict[str, NonNegativeInt] = Field(default_factory=dict)


class SetAttrition(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    start: str
    rows: NonNegativeInt
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


class FilteredLine(RowForm):
    """Line of a filter's file that says whether a group was removed; further columns give the reason."""

    model_config = ConfigDict(extra="ignore")

    task: WholeText
    group_id: WholeText
    removed: bool


@dataclass(frozen=True)
class RemovedGroups:
    """The groups that a filter removed, by task, and the name of its file."""

    name: str
    by_task: Mapping[str, frozenset[str]]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset().union(*self.by_task.values())


def read_removed(path: Path) -> frozenset[str]:
    """The ids of the groups that a filter removed, from the file that ``lmms-eval-tasks filter`` wrote.

    Raises:
        InputError: a line has another form; all problems at once.
        OSError: the file cannot be read.
    """
    return read_filter(path).ids


def read_filter(path: Path) -> RemovedGroups:
    """Read the groups that a filter removed, by task; errors as for `read_removed`."""
    issues = Problems()
    lines = [line for _, line in read_rows(path, FilteredLine, issues, exact=False)]
    issues.raise_if_any(f"{path} is not what a filter wrote")
    tasks = dict.fromkeys(line.task for line in lines if line.removed)
    groups = {task: frozenset(line.group_id for line in lines if line.removed and line.task == task) for task in tasks}
    return RemovedGroups(path.name, groups)


SCHEMA: Literal[1] = 1


Utf8Text = Annotated[str, BeforeValidator(escape_surrogates)]
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
        """Convert the value written by an earlier version, where the set is known only if it was sample data."""
        if not isinstance(value, dict) or "data_set" in value or not isinstance(value.get("sample"), bool):
            return value
        kept = {name: field for name, field in value.items() if name != "sample"}
        kind = SetKind.SAMPLE if value["sample"] else SetKind.UNKNOWN
        return {**kept, "data_set": {"kind": kind, "items": value.get("rows")}}


class Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = SCHEMA
    tool_version: str
    benchmark: str
    splits: dict[str, SplitManifest]


@dataclass(frozen=True)
class Count:
    """One number of a split: as the card states it, and in the table."""

    what: str
    expected: int
    found: int

    def __str__(self) -> str:
        return f"Expected {self.expected} {self.what}, but got {self.found}."


def groups_of(card: Card, table: pyarrow.Table) -> set[tuple[str, tuple[str, ...]]]:
    """The groups of a table, each with its stratum: the same group id in two subsets names two groups."""
    columns = [table.column(name).to_pylist() for name in card.strata_columns]
    strata = zip(*columns, strict=True) if columns else [()] * table.num_rows
    return set(zip(table.column("group_id").to_pylist(), strata, strict=True))


def counts(card: Card, split: str, table: pyarrow.Table) -> list[Count]:
    """Items, groups, clips and groups per stratum of a table beside the card's; those that the card states."""
    facts = card.splits.get(split, SplitFacts())
    groups = groups_of(card, table)
    strata = Counter(stratum for _, stratum in groups)
    clips = {clip for name in card.clip_columns for clip in table.column(name).to_pylist()}
    stated = (
        ("items", facts.items, table.num_rows),
        ("groups", facts.groups, len(groups)),
        ("clips", facts.clips, len(clips)),
    )
    result = [Count(what, expected, found) for what, expected, found in stated if expected is not None]
    result += [Count(f"groups in {' / '.join(key)}", number, strata[key]) for key, number in facts.strata.items()]
    return result


SAMPLE_MARK = "SAMPLE.json"
"""The file that marks sample data, which a real release does not have."""
BUILT_MARK = "BUILT.json"
"""The file that marks a set that `build` made."""
MARKS = (SAMPLE_MARK, BUILT_MARK)


def mark_as_built(folder: Path) -> None:
    write_file(folder / BUILT_MARK, '{"built": true}\n')


def carry_sample_mark(clips: Path, folder: Path) -> None:
    """Mark the folder of a set as sample data if the clips that it was made from are."""
    above = (place / SAMPLE_MARK for place in (clips.absolute(), *clips.absolute().parents))
    if mark := next((path for path in above if path.is_file()), None):
        write_file(folder / SAMPLE_MARK, mark.read_bytes())


def find_marks(source: str | Path, clips: Iterable[Path] = ()) -> set[str]:
    """Return the marks of a set: in or above its source or its clips' folders, and inside an archive."""
    path = Path(source).expanduser()
    inside: set[str] = set()
    if path.is_file() and zipfile.is_zipfile(path):
        with suppress(zipfile.BadZipFile, ValueError, OSError, NotImplementedError), zipfile.ZipFile(path) as archive:
            inside = {PurePosixPath(name).name for name in archive.namelist()}
    folders = {path.absolute() if path.is_dir() else path.absolute().parent} if path.exists() else set()
    folders |= {clip.resolve().parent for clip in clips}
    above = {place for folder in folders for place in (folder, *folder.parents)}
    return {mark for mark in MARKS if mark in inside or any((place / mark).is_file() for place in above)}


def identify(
    card: Card,
    split: str,
    table: pyarrow.Table,
    source: str,
    digests: Mapping[str, str],
    marks: set[str],
    own: bool,
    revision: str | None = None,
) -> DataSet:
    facts = card.splits.get(split, SplitFacts())
    if SAMPLE_MARK in marks:
        kind = SetKind.SAMPLE
    elif own or BUILT_MARK in marks or not card.is_released:
        kind = SetKind.OWN
    elif set(digests.values()) & facts.part_sha256:
        kind = SetKind.OFFICIAL
    else:
        kind = _kind(card, split, table, is_released(card, facts, source, digests, revision), source)
    return DataSet(kind=kind, items=table.num_rows, of=facts.items)


def is_released(card: Card, facts: SplitFacts, source: str, digests: Mapping[str, str], revision: str | None) -> bool:
    """Whether what was read is known to be of the release: by its digest, or downloaded from its authors' dataset."""
    known = {*card.archive_sha256.values(), *facts.sha256}
    return bool(known & set(digests.values())) or (revision is not None and source == card.hub_id)


def _kind(card: Card, split: str, table: pyarrow.Table, released: bool, source: str) -> SetKind:
    facts = card.splits.get(split, SplitFacts())
    has_keys = table.column("answer").null_count < table.num_rows
    if not released and (_is_archived(card, source) or (facts.answers_withheld and has_keys)):
        return SetKind.OWN
    if facts.items is None:
        return SetKind.UNKNOWN
    compared = counts(card, split, table)
    whole = all(count.found == count.expected for count in compared)
    # Where the strata make up the whole split, a stratum that is not among them is of no part of it.
    strata = {stratum for _, stratum in groups_of(card, table)} if sum(facts.strata.values()) == facts.groups else set()
    fewer = table.num_rows < facts.items and all(count.found <= count.expected for count in compared)
    if not whole and (not fewer or strata - facts.strata.keys()):
        return SetKind.OWN
    if not released:
        return SetKind.UNKNOWN
    return SetKind.OFFICIAL if whole else SetKind.PART


def archive_warnings(card: Card, source: str, digests: Mapping[str, str], marks: set[str]) -> tuple[str, ...]:
    """That an archive is another than the published one, where it should be that; arguments as for `identify`."""
    name, published = Path(source).name, card.archive_sha256.values()
    if SAMPLE_MARK in marks or not _is_archived(card, source) or digests.get(name) in (None, *published):
        return ()
    expected = f"Expected SHA-256 {' or '.join(published)}, but got {digests[name]}"
    return (f"{name} is not the published archive: {expected}.",)


def _is_archived(card: Card, source: str) -> bool:
    return bool(card.archive_sha256) and Path(source).expanduser().is_file()
