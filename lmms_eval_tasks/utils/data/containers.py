"""What the container of a clip says of it: when it begins, how long it is, and whether its end is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

MICROSECONDS = 1_000_000
MATROSKA = "matroska,webm"
"""By FFmpeg's name; its length counts from zero, and not from where the clip begins."""
_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"sidx", b"moof", b"pnot"})
_EBML, _SEGMENT = bytes.fromhex("1a45dfa3"), bytes.fromhex("18538067")
_MOST_PARTS = 100_000


def first_second(container: Any) -> float:
    """When an open container (``av.container.InputContainer``) begins, by its own clock; 0 where that is before zero.

    Transport streams begin at 1.4 s, and what was cut from a longer file where it was there.
    """
    return max(0, container.start_time or 0) / MICROSECONDS


def length_in_seconds(container: Any) -> float | None:
    """How long an open container says that it is, from where it begins; None where it does not say."""
    if not container.duration:
        return None
    return since_first_second(container, container.duration / MICROSECONDS)


def since_first_second(container: Any, length: float) -> float:
    """A length that an open container states, from where it begins."""
    begins = first_second(container) if container.format.name == MATROSKA else 0.0
    return length - begins if length > begins else length


def is_cut_short(path: Path) -> bool:
    """Whether a file lacks its end, by what the headers of its parts say; False where they do not say.

    An MP4 or a QuickTime file, Matroska or WebM, and an AVI say it; a transport stream does not.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        return any(end > size for end in _ends(file))


def _ends(file: IO[bytes]) -> Iterator[int]:
    """Where each part of a file ends, by its header."""
    head = file.read(12)
    if head[4:8] in _BOXES:
        begin = 0
        for _ in range(_MOST_PARTS):
            file.seek(begin)
            header = file.read(16)
            length = int.from_bytes(header[:4], "big")
            length = int.from_bytes(header[8:16], "big") if length == 1 else length
            if len(header) < 8 or length < 8:  # the end, or a part that goes on to it
                return
            begin += length
            yield begin
    elif head[:4] == _EBML:
        file.seek(4)
        file.seek(_read_length(file) or 0, os.SEEK_CUR)
        if file.read(4) == _SEGMENT and (segment := _read_length(file)) is not None:
            yield file.tell() + segment
    elif head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        yield 8 + int.from_bytes(head[4:8], "little")


def _read_length(file: IO[bytes]) -> int | None:
    """A length as Matroska writes it: the first bit that is set says of how many bytes; None where it is unknown."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    more = 8 - first[0].bit_length()
    bits = 7 * (more + 1)
    length = int.from_bytes(first + file.read(more), "big") & ((1 << bits) - 1)
    return None if length == (1 << bits) - 1 else length
