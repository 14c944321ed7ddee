"""Reading files of any size, and writing them whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from lmms_eval_tasks.utils.core.variables import HOME

try:
    import fcntl

    CAN_LOCK = True
except ImportError:  # what killed processes leave stays there
    CAN_LOCK = False

BLOCK = 1 << 20
PART = ".part"
"""How the name of a file ends that is not whole yet."""
_CLEARED: set[Path] = set()
"""Folders in which this process has looked for what others left."""
LITTLE = 1 << 20
"""A disk with less room is as good as full."""


class FullDisk(OSError):
    """A disk is full; `filename` is the folder that lies on it."""

    def __str__(self) -> str:
        return (
            f"The disk of {self.filename} is full, or your share of it is used up. Remedy: free space there, or name a "
            "folder on another disk, and give the same command again."
        )


def name_full_disk(error: BaseException, *folders: Path) -> BaseException:
    """An error, as `FullDisk` where it says that a disk is full: that of its file, or else the fullest."""
    if not isinstance(error, OSError) or isinstance(error, FullDisk) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return error
    named = isinstance(error.filename, (str, bytes))
    places = [Path(os.fsdecode(error.filename)).parent] if named else list(folders)
    if not places or (not named and error.errno == errno.ENOSPC):
        data = os.environ.get(HOME) or os.environ.get("HF_HOME") or "~"
        places += [Path(), Path(data).expanduser(), Path(tempfile.gettempdir())]
    return FullDisk(error.errno, "", str(min(places, key=free_space).absolute()))


@contextmanager
def naming_full_disk(folder: Path) -> Iterator[None]:
    """Where the block writes below a folder and finds the disk full, its error is `FullDisk`."""
    try:
        yield
    except OSError as error:
        named = name_full_disk(error, folder)
        if named is error:
            raise
        raise named from error


def free_space(folder: Path) -> int:
    """Bytes free on the disk of a folder, which need not exist yet."""
    return shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists())).free


def why_unwritable(folder: Path) -> str | None:
    """Why nothing can be written to a folder, which is made where it is missing; None where something was."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        in_the_way = next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), None)
        return f"{in_the_way} is no folder" if in_the_way else error.strerror or str(error)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "It is no regular file", str(path))
    return path.open("rb")


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks of `BLOCK` bytes, the last one perhaps shorter."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, over one that is there; folders that are missing are made.

    Args:
        path: The file.
        content: Its bytes, or a text, which is written as UTF-8 with its line ends as they are.

    Raises:
        OSError: it cannot be written; what was there is left as it was.
        UnicodeEncodeError: the text holds a lone surrogate.
    """
    with replacing(path) as beside:
        beside.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write a file to, which replaces `path` when the block ends without an error."""
    with new_part(path.parent) as beside:
        yield beside
        put_part(beside, path)


@contextmanager
def new_part(folder: Path) -> Iterator[Path]:
    """A path in a folder, made where it is missing, for a file whose name is known only when it is whole."""
    with naming_full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if folder not in _CLEARED:
            clear_parts(folder)
            _CLEARED.add(folder)
        beside, file = _make_part(folder)
        try:
            yield beside
        finally:
            beside.unlink(missing_ok=True)
            if file is not None:
                os.close(file)


def put_part(beside: Path, path: Path) -> None:
    """Move a file that is whole to its place, once it is on the disk."""
    with beside.open("rb+") as file:
        os.fsync(file.fileno())
    beside.replace(path)


def _make_part(folder: Path) -> tuple[Path, int | None]:
    while True:
        beside = folder / f".{uuid4().hex}{PART}"
        if not CAN_LOCK:
            return beside, None
        file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(file)
        # Between the two lines before, another process may have taken it for one that was left behind.
        if beside.exists():
            return beside, file
        os.close(file)


def clear_parts(folder: Path) -> None:
    """Delete what processes left in a folder that were killed while they wrote; files that are written to stay."""
    with suppress(OSError):
        for path in folder.glob(f".*{PART}"):
            if path.is_file() and not path.is_symlink():
                _delete_unless_locked(path)


def _delete_unless_locked(path: Path) -> None:
    with suppress(OSError):
        file = os.open(path, os.O_RDWR)
        try:
            if _lock(file, wait=False):
                path.unlink()
        finally:
            os.close(file)


def _lock(file: int, wait: bool = True) -> bool:
    """Lock a file until it is closed; False where another process has locked it, or nobody can."""
    if not CAN_LOCK:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
