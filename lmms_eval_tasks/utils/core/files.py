"""Files and folders written whole or not at all, and read while they may be replaced; digests of files."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, TypeVar
from uuid import uuid4

from filelock import FileLock, Timeout

from lmms_eval_tasks.utils.core.text import HOME, is_utf8
from lmms_eval_tasks.utils.core.work import Progress, no_progress

BLOCK = 1 << 20
LITTLE = 1 << 20
"""A disk with less room is as good as full."""
PART = ".part"
"""How the name of a file ends that is not whole yet."""
FORGOTTEN = 24 * 3600.0
"""Seconds after which a part that nobody writes to is taken for one of a process that was killed."""
PAUSE = 0.005
"""Seconds between two looks at a swap that is under way."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


class FullDisk(OSError):
    """A disk is full; `filename` is the folder that lies on it."""

    def __str__(self) -> str:
        return (
            f"The disk of {self.filename} is full, or your share of it is used up. Remedy: free space there, or name a "
            "folder on another disk, and give the same command again."
        )


def name_full_disk(error: BaseException, *folders: Path) -> BaseException:
    """Return an error, as `FullDisk` where it says that a disk is full: that of its file, or else the fullest."""
    if not isinstance(error, OSError) or isinstance(error, FullDisk) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return error
    named = isinstance(error.filename, (str, bytes))
    places = [Path(os.fsdecode(error.filename)).parent] if named else list(folders)
    if not places or (not named and error.errno == errno.ENOSPC):
        data = os.environ.get(HOME) or os.environ.get("HF_HOME") or ("~" if has_home() else ".")
        places += [Path(), Path(data).expanduser(), Path(tempfile.gettempdir())]
    return FullDisk(error.errno, "", str(min(places, key=free_space).absolute()))


@contextmanager
def naming_full_disk(folder: Path) -> Iterator[None]:
    """Raise `FullDisk` if the block finds the disk full while writing below a folder."""
    try:
        yield
    except OSError as error:
        named = name_full_disk(error, folder)
        if named is error:
            raise
        raise named from error


def has_home() -> bool:
    """Whether there is a home folder, which a user id that a container was given may lack."""
    try:
        Path.home()
    except RuntimeError:
        return False
    return True


def free_space(folder: Path) -> int:
    return shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists())).free


def why_unwritable(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        in_the_way = next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), None)
        return f"{in_the_way} is no folder" if in_the_way else error.strerror or str(error)


def open_regular(path: Path) -> BinaryIO:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "It is no regular file", str(path))
    return path.open("rb")


def is_visible(path: PurePosixPath | Path) -> bool:
    """Whether neither a file nor a folder on a relative path to it is hidden, as those are that systems and editors
    leave behind: ``.DS_Store``, and ``._clip.mp4`` beside ``clip.mp4``."""
    return not any(part.startswith(".") for part in path.parts)


def visible_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder that match a pattern and are not hidden, in the order of their paths."""
    return sorted(path for path in folder.glob(pattern) if is_visible(path.relative_to(folder)) and path.is_file())


def read_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


_DIGESTS: dict[tuple[str, int, int, int], str] = {}
"""A file's path, number, size and time of change to its digest, for this process."""


def file_sha256(path: Path, progress: Progress = no_progress) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; a file that has not changed is read once."""
    facts = path.stat()
    key = str(path), facts.st_ino, facts.st_size, facts.st_mtime_ns
    if key not in _DIGESTS:
        digest = hashlib.sha256()
        for done, block in enumerate(read_blocks(path), 1):
            digest.update(block)
            progress(f"{path.name}: computing SHA-256 (MiB)", done, -(-facts.st_size // BLOCK))
        _DIGESTS[key] = digest.hexdigest()
    return _DIGESTS[key]


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
    """Give a path to write a file to, which replaces `path` when the block ends without an error."""
    with new_part(path.parent) as beside:
        yield beside
        put_part(beside, path)


_CLEARED: set[Path] = set()
"""Folders in which this process has looked for what others left."""


@contextmanager
def new_part(folder: Path) -> Iterator[Path]:
    """Give a path in a folder, made where it is missing, for a file whose name is known only when it is whole."""
    with naming_full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if folder not in _CLEARED:
            clear_parts(folder)
            _CLEARED.add(folder)
        beside = folder / f".{uuid4().hex}{PART}"
        try:
            yield beside
        finally:
            beside.unlink(missing_ok=True)


def put_part(beside: Path, path: Path) -> None:
    """Move a file that is whole to its place, once it is on the disk."""
    with beside.open("rb+") as file:
        os.fsync(file.fileno())
    beside.replace(path)


def clear_parts(folder: Path, age: float = FORGOTTEN) -> None:
    """Delete parts in a folder to which nobody has written for some seconds: those of processes that were killed."""
    with suppress(OSError):
        for path in folder.glob(f".*{PART}"):
            if path.is_file() and not path.is_symlink() and time.time() - path.stat().st_mtime >= age:
                path.unlink()


@contextmanager
def held(lock: FileLock, what: Path) -> Iterator[None]:
    """Hold a lock, which is waited for with a warning that says what another process is writing."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.warning("another process is writing %s; waiting for it to end", what)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def key_lock(folder: Path, key: str) -> FileLock:
    """Return the lock, one of 4,096 below a folder, that keeps others from the same key, and seldom from another."""
    shelf = folder / key[:2]
    shelf.mkdir(parents=True, exist_ok=True)
    return FileLock(shelf / f".lock{key[2]}")


def swap(new: Path, place: Path) -> None:
    """Put something new, if it is there, in the place of what is there, which goes; the caller holds the lock."""
    if place.exists():
        remove(old_place(place))
        place.replace(old_place(place))
    if new.exists():
        new.replace(place)
    remove(old_place(place))


@contextmanager
def locked(current: Path) -> Iterator[None]:
    """Lock a benchmark's folder for a build; a swap that was cut short is undone or finished first."""
    with held(_swapping_lock(current), current):
        _recover(current)
        yield


def read_steadily(current: Path, read: Callable[[], T]) -> T:
    """Read from a folder with a function, calling it again if the folder was replaced meanwhile."""
    while True:
        is_settled = _settle(current)
        before = _identity(current)
        try:
            value = read()
        except Exception:
            if _identity(current) == before and not (is_settled and _is_between_renames(current)):
                raise
        else:
            if _identity(current) == before:
                return value


def _recover(current: Path) -> None:
    """Undo or finish the swap of a build that was killed in it; the caller holds the lock."""
    if current.exists():
        remove(old_place(current))
    elif old_place(current).exists():
        old_place(current).replace(current)


def _settle(current: Path) -> bool:
    """Wait for a swap that is under way; where its build is dead, undo it."""
    while _is_between_renames(current):
        try:
            with _swapping_lock(current).acquire(timeout=0):
                _recover(current)
        except Timeout:
            time.sleep(PAUSE)
        except OSError:
            return False
    return True


def _swapping_lock(current: Path) -> FileLock:
    return FileLock(current.with_name(f".{current.name}.lock"))


def _is_between_renames(current: Path) -> bool:
    return not current.exists() and old_place(current).exists()


def _identity(current: Path) -> tuple[int, int, int] | None:
    """Return values that distinguish a folder from one that replaced it; None if it does not exist."""
    try:
        facts = current.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns


def old_place(place: Path) -> Path:
    return place.with_name(f".{place.name}.old")


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


LONGEST_NAME = 240
"""Bytes of a file's or a folder's name; file systems have no more than 255, and other names are derived from it."""
LONGEST_PATH = 1_000
"""Bytes of a name below a release's root."""
CONTROL = "[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]"
"""Line breaks and other control characters, which lists of clips and messages cannot hold."""


def is_safe(name: str) -> bool:
    """Whether a name taken from a release stays inside the folder that it is joined to, and can be a file's name.

    It does where it is a relative path with slashes, without ``..``, a backslash, a drive's letter, a line break or
    another control character, of at most 240 bytes in each part and 1,000 bytes in all, as UTF-8.
    """
    path = PurePosixPath(name)
    return (
        bool(path.parts)
        and is_utf8(name)
        and len(name.encode()) <= LONGEST_PATH
        and all(len(part.encode()) <= LONGEST_NAME for part in path.parts)
        and not path.is_absolute()
        and ".." not in path.parts
        and "\\" not in name
        and re.search(CONTROL, name) is None
        and re.match("[A-Za-z]:", name) is None
    )
