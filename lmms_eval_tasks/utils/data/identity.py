"""Identity of a prepared set: from the marks of its source, known digests, its keys, and its counts next to the
card's."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.card import Card, DataSet, SetKind, SplitFacts

if TYPE_CHECKING:
    import pyarrow


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


@dataclass(frozen=True)
class Origin:
    """Source from which a split was read, as recorded in the manifest.

    Attributes:
        source: The folder, the file or the name on the hub that the user gave.
        files: Names of its files with their path or their content; the manifest has their SHA-256.
        revision: Its revision on the hub.
        warnings: What is unusual in it.
        own: Whether it is known to be no release, as a folder of the user's own videos is.
    """

    source: str
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    revision: str | None = None
    warnings: tuple[str, ...] = ()
    own: bool = False


def identify(
    card: Card, split: str, table: pyarrow.Table, origin: Origin, digests: Mapping[str, str], marks: set[str]
) -> DataSet:
    facts, source = card.splits.get(split, SplitFacts()), origin.source
    if SAMPLE_MARK in marks:
        kind = SetKind.SAMPLE
    elif origin.own or BUILT_MARK in marks or not card.is_released:
        kind = SetKind.OWN
    elif set(digests.values()) & facts.part_sha256:
        kind = SetKind.OFFICIAL
    else:
        kind = _kind(card, split, table, is_released(card, facts, source, digests, origin.revision), source)
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
