"""CSV files that anybody may have made, row by row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import describe, summarize_names

LONGEST_CELL = 1 << 24
"""Characters; Python's own limit, 131,072, is less than a long answer may have."""


def read_csv(source: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file, each with its place ("scores.csv, line 3"); a cell that a row lacks is empty.

    Args:
        source: The file, UTF-8 with or without a byte order mark, whose first row names the columns.
        columns: Columns that must be there, in any order and among others.

    Raises:
        InputError: where the file cannot be read, is not UTF-8 or not CSV, lacks a column or names one twice, or a row
            has more cells than there are columns.
    """
    try:
        with open_regular(source) as file:
            content = file.read()
    except OSError as error:
        raise InputError(f"{source.name} cannot be used: {error.strerror or error}.") from error
    try:
        table = CsvTable(content)
        names = table.columns
        if missing := [name for name in columns if name not in names]:
            raise ValueError(
                f"Expected the columns {', '.join(columns)}, but got {table.named or 'none'}: "
                f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing."
            )
        if table.repeated:
            raise ValueError(f"Expected each column once, but got {table.repeated} again.")
        for line, cells in table:
            if len(cells) > len(names):
                raise ValueError(f"line {line}: Expected at most {len(names)} cells, but got {len(cells)}.")
            if cells:
                padded = [*cells, *[""] * (len(names) - len(cells))]
                yield f"{source.name}, line {line}", dict(zip(names, padded, strict=True))
    except ValueError as error:
        raise InputError(f"{source.name} cannot be used: {error}") from error


class CsvTable:
    """The content of a CSV file, whose first row names the columns.

    It is read row by row, once: each row with the number of the line that it ends in; an empty line is a row without
    cells.

    Args:
        content: The file's bytes, UTF-8 with or without a byte order mark.

    Attributes:
        columns: The names, without the white space around them; none of an empty file.

    Raises:
        ValueError: with a sentence on why the content is no CSV in UTF-8; also while the rows are read.
    """

    def __init__(self, content: bytes) -> None:
        """Read the first row."""
        self._rows = _read_cells(content)
        _, header = next(self._rows, (0, []))
        self.columns = [name.strip() for name in header]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """The rows below the first."""
        return self._rows

    @property
    def named(self) -> str:
        """The columns as messages name them; the first twenty of many."""
        return _name(self.columns)

    @property
    def repeated(self) -> str:
        """The columns that are there more than once, as messages name them; a column without a name is none."""
        return _name([name for name in dict.fromkeys(self.columns) if name and self.columns.count(name) > 1])


def _name(columns: Sequence[str]) -> str:
    return summarize_names((describe(name)[1:-1] for name in columns), 20)


def _read_cells(content: bytes) -> Iterator[tuple[int, list[str]]]:
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected a CSV file in UTF-8, but byte {error.start} is not.") from error
    csv.field_size_limit(LONGEST_CELL)
    # A text in memory would take four bytes a character.
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""), strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"Expected a CSV file, but line {reader.line_num} is not CSV ({error}).") from error
