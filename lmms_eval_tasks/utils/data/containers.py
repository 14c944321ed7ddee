"""What the container of a clip says of it: when it begins, how long it is, and whether its end is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

MICROSECONDS = 1_000_000
MATROSKA = "matroska,webm"
"""By FFmpeg's name; its length counts from zero, and not from where the clip begins."""
_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"sidx", b"moof", b"pnot"})
_EBML = bytes.fromhex("1a45dfa3")
_MOST_PARTS = 100_000


def first_second(container: Any) -> float:
    """When an open container (``av.container.InputContainer``) begins, by its own clock; 0 where that is before
    zero."""
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
    """Whether a file lacks its end; errors as for `missing_bytes`."""
    return missing_bytes(path) > 0


def missing_bytes(path: Path) -> int:
    """How many bytes a file lacks at its end by the headers of its parts; 0 where it is whole, or they do not say.

    An MP4 or a QuickTime file, Matroska or WebM, and an AVI say it; a transport stream does not. In Matroska the length
    of a whole film or of a part of it may be unknown, as where it was written while it was filmed; what is in it is
    then looked at.
    Source: ISO/IEC 14496-12, section 4.2 (boxes); RFC 8794, sections 4 to 6; RFC 9559, section 5.1.

    Raises:
        OSError: it cannot be read.
    """
    size, end = path.stat().st_size, 0
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
            end = 8 + int.from_bytes(head[4:8], "little")
        else:
            read = _read_box if head[4:8] in _BOXES else _read_element if head[:4] == _EBML else None
            for _ in range(_MOST_PARTS if read else 0):
                file.seek(end)
                try:
                    end = read(file) if read else end
                except EOFError:
                    end = max(end, size + 1)
                except ValueError:  # a part that goes on to the end, or none: what comes behind the film
                    break
                if end >= size:
                    break
    return max(0, end - size)


def _read_box(file: BinaryIO) -> int:
    """Where a box of an MP4 ends; errors as for `_read_number`."""
    begin = file.tell()
    length = int.from_bytes(_read(file, 8)[:4], "big")
    if length == 1:
        length = int.from_bytes(_read(file, 8), "big")
    if length < 8:
        raise ValueError
    return begin + length


def _read_element(file: BinaryIO) -> int:
    """Where an element of Matroska ends, or what is in it begins where its length is unknown; errors as below."""
    _read_number(file)
    return (_read_number(file) or 0) + file.tell()


def _read_number(file: BinaryIO) -> int | None:
    """A number of one to eight bytes, of which the first one's leading zeros say how many follow; None if unknown."""
    first = _read(file, 1)
    if not first[0]:
        raise ValueError
    content = first + _read(file, 8 - first[0].bit_length())
    most = (1 << 7 * len(content)) - 1
    number = int.from_bytes(content, "big") & most
    return None if number == most else number


def _read(file: BinaryIO, count: int) -> bytes:
    content = file.read(count)
    if len(content) < count:
        raise EOFError
    return content
