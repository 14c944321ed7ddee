"""CSV files that anybody may have made, row by row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmms_eval_tasks.utils.core.problems import InputError

LONGEST_CELL = 1 << 24
"""Characters; Python's own limit, 131,072, is less than a long answer may have."""


def read_csv(source: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file, each with its place ("scores.csv, line 3"); a cell that a row lacks is empty.

    Args:
        source: The file, UTF-8 with or without a byte order mark, whose first row names the columns.
        columns: Columns that must be there, in any order and among others.

    Raises:
        InputError: where the file cannot be read, is not UTF-8 or not CSV, or lacks a column.
    """
    try:
        text = source.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{source.name} cannot be used: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.name} cannot be used: Expected UTF-8 text, but byte {error.start} is not."
        ) from error
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
    try:
        names = [str(name).strip() for name in reader.fieldnames or ()]
        if missing := [name for name in columns if name not in names]:
            raise InputError(
                f"{source.name} cannot be used: Expected the columns {', '.join(columns)}, but got "
                f"{', '.join(names) or 'none'}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing."
            )
        reader.fieldnames = names
        for row in reader:
            yield f"{source.name}, line {reader.line_num}", {name: row[name] for name in names}
    except csv.Error as error:
        raise InputError(f"{source.name} cannot be used: line {reader.line_num} is not CSV ({error}).") from error
