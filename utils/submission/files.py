"""Submission files: one JSON object per line, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from lmms_eval_tasks.utils.core.files import write_file


def write_rows(path: Path, rows: Iterable[Mapping[str, str]]) -> int:
    """Write rows as JSON lines, in the order given; the same rows give the same bytes.

    A lone surrogate, which a response may hold and no UTF-8 file can, is written as its JSON escape.

    Returns:
        The number of rows.

    Raises:
        OSError: where the file cannot be written; what was there is left as it was.
    """
    written = list(rows)
    write_file(path, as_lines(written))
    return len(written)


def as_lines(rows: Iterable[Mapping[str, str]]) -> str:
    """Rows as JSON lines; the same rows give the same text, in which a lone surrogate stands as its escape."""
    lines = (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode("utf-8", "backslashreplace").decode("utf-8")
