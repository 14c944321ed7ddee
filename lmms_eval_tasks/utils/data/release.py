"""Raw releases as their authors ship them: a folder or a zip archive, read alike and never trusted."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import BLOCK, is_safe, is_visible, open_regular, read_blocks
from lmms_eval_tasks.utils.core.text import first_line, summarize_names

LARGEST_METADATA = 1 << 24
"""Bytes of a file of metadata. No release of these benchmarks has one of 4 MB; a small archive can declare any size."""
PACKED_BLOCK = 4096
"""Bytes read at a time of a member that is packed so well that this much of it may become a hundred megabytes."""


class Clip(Protocol):
    """A clip that a raw release does not have as a file of its own: extracted from an archive, or made of pictures."""

    @property
    def size(self) -> int:
        """Bytes that the clip takes, or a guess of them."""

    def is_made(self, path: Path) -> bool:
        """Whether there is a file at a path, and it is this clip."""

    def make(self, path: Path) -> None:
        """Write the clip to a path."""


class UnreadableClip(Exception):
    """A clip cannot be read: it is no video, or the release does not hold it whole.

    Where a clip's ``make`` raises it, the clip counts as missing, and `prepare` goes on.
    """


class DamagedSource(Exception):
    """Error for damaged source data of a clip, which the user should know about and repair.

    Where a clip's ``make`` raises it, the split is not prepared; an `InputError` lists all that is damaged.

    Attributes:
        where: The file, as the user knows it.
        what: A sentence in the form "Expected … but got …."
        remedy: What to do about it.
    """

    def __init__(self, where: str, what: str, remedy: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where, self.what, self.remedy = where, what, remedy


class UnreadableMember(Exception):
    """A member of an archive cannot be read; the message says why."""


def read_metadata(path: Path) -> bytes:
    """Content of a file of metadata.

    Raises:
        InputError: it has more than 16 MiB.
        OSError: it cannot be read.
    """
    with open_regular(path) as file:
        content = file.read(LARGEST_METADATA + 1)
    _check_size(path.name, max(len(content), path.stat().st_size))
    return content


def _check_size(name: str, size: int) -> None:
    if size > LARGEST_METADATA:
        raise InputError(
            f"{name} cannot be used: Expected at most {LARGEST_METADATA:,} bytes, but got {size:,}. Nothing was "
            "written."
        )


@dataclass(frozen=True)
class ZippedClip:
    """A member of an open archive: extracted whole, with its size and checksum checked."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo

    @property
    def size(self) -> int:
        return self.info.file_size

    def make(self, path: Path) -> None:
        try:
            with path.open("wb") as file:
                for block in _member_blocks(self.archive, self.info):
                    file.write(block)
        except UnreadableMember as error:
            raise UnreadableClip(str(error)) from error

    def is_made(self, path: Path) -> bool:
        if path.is_symlink() or not path.is_file() or path.stat().st_size != self.info.file_size:
            return False
        checksum = 0
        for block in read_blocks(path):
            checksum = zlib.crc32(block, checksum)
        return checksum == self.info.CRC


@dataclass(frozen=True)
class Release:
    """A release in a folder, or in an open archive whose members have been checked; names are POSIX paths below it."""

    root: Path | zipfile.Path

    def read(self, name: str) -> bytes | None:
        path = self.root / name
        if not path.is_file():
            return None
        if isinstance(path, Path):
            return read_metadata(path)
        archive, info = path.root, path.root.getinfo(path.at)
        _check_size(name, info.file_size)
        try:
            return b"".join(_member_blocks(archive, info))
        except UnreadableMember as error:
            raise InputError(
                f"{Path(str(archive.filename)).name} cannot be prepared: {name} cannot be read from it ({error}). "
                "Nothing was written.\nRemedy: download it again."
            ) from error

    def holds(self, folder: str) -> bool:
        path = self.root / folder
        return path.is_dir() and any(is_visible(PurePosixPath(entry.name)) for entry in path.iterdir())

    def files(self, folder: str) -> list[str]:
        path = self.root / folder
        names = (file.name for file in path.iterdir() if file.is_file()) if path.is_dir() else ()
        return sorted(f"{folder}/{name}" for name in names if is_visible(PurePosixPath(name)))

    def is_marked(self, marker: str) -> bool:
        return self.holds(marker) if marker.endswith("/") else (self.root / marker).is_file()

    def clip(self, name: str) -> Clip | Path | None:
        path = self.root / name
        if isinstance(path, Path):
            return path
        return ZippedClip(path.root, path.root.getinfo(path.at)) if path.is_file() else None


@contextmanager
def open_release(source: Path, title: str, markers: Iterable[str], roots: Iterable[str]) -> Iterator[Release]:
    """Open a raw release given as a folder or as a zip archive; used in a `with` block.

    It gives an object with ``read(name)`` (the bytes of a small file, None where there is none), ``holds(folder)``
    (whether there is anything in it), ``files(folder)`` (the names of the files in it, in alphabetical order) and
    ``clip(name)`` (what `building` takes for a clip). Names are paths below the release's root, with slashes; hidden
    files, whose names begin with a dot, are not listed.

    Args:
        source: the folder or archive.
        title: name of the release, for messages.
        markers: files of which a release holds at least one; one that ends in a slash is a folder that is not empty.
        roots: folders, relative to `source`, that may be the release's root; "" is `source` itself.

    Raises:
        InputError: there is nothing at `source`, it is no archive or not this release, or its members are unsafe.
    """
    wanted = tuple(markers)
    with nullcontext(source) if source.is_dir() else _open_archive(source) as top:
        for root in roots:
            release = Release(top / root)
            if any(map(release.is_marked, wanted)):
                yield release
                return
        names = sorted(path.name for path in top.iterdir())
    raise InputError(
        f"{source.name} is not the {title} release: Expected {' or '.join(wanted)} inside, but found "
        f"{summarize_names(names) or 'nothing'}. Nothing was written."
    )


@contextmanager
def _open_archive(source: Path) -> Iterator[zipfile.Path]:
    if not source.is_file():
        raise InputError(f"{source.name} cannot be prepared: there is no file or folder {source}.")
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError) as error:
        raise InputError(
            f"{source.name} cannot be prepared: Expected a zip archive or a folder, but got a file of "
            f"{source.stat().st_size} bytes that is not a whole zip archive. Nothing was written.\n"
            "Remedy: download it again."
        ) from error
    with archive:
        _check_members(archive, source.name)
        yield zipfile.Path(archive)


def download_dataset(
    hub_id: str, title: str, patterns: Iterable[str], instead: str = "a folder with a snapshot of the dataset"
) -> tuple[Path, str]:
    """The wanted files of a dataset on the hub, in a folder of the hub's own cache, and the dataset's revision.

    Args:
        hub_id: Owner and name of the dataset.
        title: Name of the release, for messages.
        patterns: Which files are wanted, as the hub's client takes them: ``items.json``, ``clips/*.mp4``.
        instead: What a user without access to the hub can give as the source.

    Raises:
        InputError: the dataset cannot be had, with the reason.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(hub_id, repo_type="dataset", allow_patterns=list(patterns)))
    except Exception as error:  # the hub's client raises what its many layers raise
        raise InputError(
            f"{title} cannot be loaded from {hub_id}: {first_line(error)}\n"
            "Remedy: check the name and the connection (`hf auth login` where access is gated), or give --source "
            f"{instead}."
        ) from error
    return folder, folder.name


def _member_blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a member in blocks, no more of it than it declares and its checksum checked."""
    bounded = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    try:
        with archive.open(info) as member:
            while block := member.read(BLOCK if bounded else PACKED_BLOCK):
                yield block
    except (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError, RuntimeError,
        ValueError, MemoryError,
    ) as error:  # fmt: skip
        raise UnreadableMember(first_line(error)) from error
    except OSError as error:
        # The bz2 module knows no error of its own; one of the system has a number.
        if error.errno is not None:
            raise
        raise UnreadableMember(first_line(error)) from error


def _check_members(archive: zipfile.ZipFile, name: str) -> None:
    problems = Problems()
    for info in archive.infolist():
        where = f"member {info.filename!r}"
        if not is_safe(info.filename):
            problems.add(where, "Expected a relative path that stays inside the archive.")
        elif stat.S_ISLNK(info.external_attr >> 16):
            problems.add(where, "Expected a file, but got a symbolic link.")
        elif info.flag_bits & 1:
            problems.add(where, "Expected a file that can be read, but it is encrypted.")
        elif info is not archive.getinfo(info.filename) and not info.is_dir():
            problems.add(where, "Expected one member of this name, but got two.")
    problems.raise_if_any(f"{name} cannot be prepared", "nothing was written")
