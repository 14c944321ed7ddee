"""Whether a Matroska or WebM file holds all that its elements say they hold, without decoding a frame.

A file is elements one after the other, each an id, a length and its content. The length of a whole film or of a part of
it may be unknown, as where it was written while it was filmed; what is in it is then looked at.
Source: RFC 8794, sections 4 to 6; RFC 9559, section 5.1 (ids).
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO


def missing_bytes(path: Path) -> int:
    """How many bytes a file lacks at its end by what its elements say of themselves; 0 where it is whole.

    Where nothing says how long the film is, a file that ends between two elements cannot be told from a whole one.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        at = 0
        while at < size:
            file.seek(at)
            try:
                _read_number(file)
                length = _read_number(file)
            except EOFError:
                return 1
            except ValueError:  # no element: what comes behind the film, or no such file, as decoding it says
                return 0
            at = file.tell() + (length or 0)
    return at - size


def _read_number(file: BinaryIO) -> int | None:
    """A number of one to eight bytes, of which the first one's leading zeros say how many follow; None if unknown.

    Raises:
        EOFError: the file ends within it.
        ValueError: there is none.
    """
    first = file.read(1)
    if not first:
        raise EOFError
    if not first[0]:
        raise ValueError
    others = 8 - first[0].bit_length()
    content = file.read(others)
    if len(content) < others:
        raise EOFError
    most = (1 << 7 * (others + 1)) - 1
    number = int.from_bytes(first + content, "big") & most
    return None if number == most else number
