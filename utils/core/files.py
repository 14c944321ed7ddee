"""Reading files of any size, and writing them whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

BLOCK = 1 << 20


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises:
        OSError: it cannot be read, or is no regular file: a pipe is waited for, and a device may have no end.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "It is no regular file", str(path))
    return path.open("rb")


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks of `BLOCK` bytes, the last one perhaps shorter."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, text as UTF-8 with its line ends as they are; see `replacing`.

    Raises:
        OSError: it cannot be written; what was there is left as it was.
        UnicodeEncodeError: the text holds a lone surrogate.
    """
    with replacing(path) as beside:
        beside.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write a file to, which replaces `path` when the block ends without an error.

    It lies in the same folder, which is made where it is missing, under a name that no other process or thread uses. It
    is on the disk before it is moved, so that `path` is the old file or the new one even after a loss of power, and a
    block that fails leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{uuid4().hex}.part")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
