"""Reading files of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

BLOCK = 1 << 20


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks of `BLOCK` bytes, the last one perhaps shorter."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
