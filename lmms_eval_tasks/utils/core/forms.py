"""CSV, JSON and Parquet from any source, read strictly into checked rows, with every issue noted."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.text import describe, escape_surrogates, is_utf8, printable, summarize_names

if TYPE_CHECKING:
    import pyarrow


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


LONGEST = 300
"""Digits of a whole number that a float can still hold."""
DEEPEST = 100
"""Lists and objects one inside the other that a program of ours can still walk through."""
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: str) -> Any:
    """The value of a JSON text."""
    return _read(text, parse_constant=refuse_constant, object_pairs_hook=_unique)


def read_written_json(text: str) -> Any:
    """The value of a JSON text that Python wrote, which may hold NaN and Infinity."""
    value = _read(text)
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value):
        raise ValueError("values nested too deeply")
    return value


def _read(text: str, **options: Any) -> Any:
    try:
        return json.loads(text, parse_int=_whole, **options)
    except json.JSONDecodeError as error:
        what = "text after the value" if error.msg == "Extra data" else "no JSON"
        raise ValueError(f"{what} from character {error.pos + 1} on") from None
    except RecursionError:
        raise ValueError("values nested too deeply") from None


def _is_deep(value: Any) -> bool:
    """Whether values are nested deeper than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def read_released_json(content: str | bytes) -> Any:
    """The value of a JSON text of a release, which may hold NaN, Infinity and one field twice as Python reads them.

    Args:
        content: The text; bytes are UTF-8 with or without a byte order mark.

    Raises:
        ValueError: it is not JSON in UTF-8, is nested too deeply, or a text in it has a lone surrogate, which no table
            can hold.
    """
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    try:
        value = json.loads(text)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("values nested too deeply") from None
    except UnicodeEncodeError as error:
        raise ValueError(f"a text with the lone surrogate {ascii(error.object[error.start])[1:-1]}") from None
    return value


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN or Infinity, which Python reads as JSON: a ``parse_constant`` of `json.loads`."""
    raise ValueError(f"{name}, which JSON does not have")


def _unique(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for name, value in fields:
        if name in unique:
            raise ValueError(f"the field {describe(name)} twice")
        unique[name] = value
    return unique


def _whole(digits: str) -> int:
    if len(digits) > LONGEST:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def read_parquet(path: Path) -> pyarrow.Table:
    """The table of one Parquet file."""
    import pyarrow.parquet

    open_regular(path).close()
    # `read_table` would take the names of folders for columns of the table; a name need not be UTF-8.
    with pyarrow.OSFile(os.fsencode(path)) as source, pyarrow.parquet.ParquetFile(source) as file:
        return file.read()


LONGEST_LINE = 1 << 24
"""Bytes; a longer line is no row, and is not looked into."""
BOM = b"\xef\xbb\xbf"

_NO_BOM = ("Expected UTF-8 without a byte order mark, but there is one at", "the file's start")
_KINDS = {
    "string_type": "a text",
    "string_unicode": "a text of whole Unicode characters",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true, false or null",
    "dict_type": "an object",
    "model_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list, which the form has to take as list[…], not as a tuple",
    "id_type": "a whole number or a text",
}
_BOUNDS = {
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


class RowForm(BaseModel):
    """Base of the forms of a file's rows: a pydantic model with exactly its fields, no value changed into another type.

    Rows are frozen. `read_rows` notes what a row has otherwise, in words for the user. A JSON list is a `list[…]`,
    never a tuple; `pydantic.Field(min_length=3, max_length=3)` says how long it is.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _without_surrogates(text: str) -> str:
    if not is_utf8(text):
        raise PydanticCustomError("string_unicode", "a text of whole Unicode characters")
    return text


WholeText = Annotated[str, AfterValidator(_without_surrogates)]
"""A text that a table can hold: without a lone surrogate, which JSON can spell and UTF-8 cannot."""

RowType = TypeVar("RowType", bound=RowForm)


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON lines, each with a line feed at its end; the same rows give the same text.

    A lone surrogate, which a response may hold and no UTF-8 file can, is written as its JSON escape.

    Raises:
        TypeError: a value is none that JSON has.
    """
    lines = (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
    return escape_surrogates("".join(lines))


def read_rows(
    path: Path, row_type: type[RowType], issues: Problems, exact: bool = True
) -> Iterator[tuple[str, RowType]]:
    """The rows of a file that have the form asked for, each with its place ("line 3").

    Time is linear in the file's size and one line is in memory at a time. Noted as issues: bytes that are not UTF-8, a
    byte order mark, line ends other than a line feed, empty lines, what `read_json` refuses, and fields that are
    missing, too many, or of another type. A file that no other program will read need not be `exact`: then a byte order
    mark, carriage returns and empty lines are no issues.

    Raises:
        OSError: the file cannot be read.
    """
    layout_issues = issues if exact else Problems()
    with open_regular(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            where = f"line {number}"
            if len(line) > LONGEST_LINE:
                issues.add(
                    "lines",
                    f"Expected none longer than {LONGEST_LINE:,} bytes, but there is",
                    where,
                    "Nothing after it was read.",
                )
                return
            text = _decode(line, where, number == 1, issues, layout_issues)
            if text is None:
                continue
            try:
                value = read_json(text)
            except ValueError as error:
                issues.add("lines", "Expected one JSON object in each, but got", f"{error} ({where})")
                continue
            row = validate_value(value, row_type, issues, where)
            if row is not None:
                yield where, row
        if number == 0:
            issues.add("lines", "Expected one JSON object in each, but", "the file is empty")


def read_object(path: Path, form: type[RowType], issues: Problems) -> RowType | None:
    """A file that is one JSON object of the form asked for; None, with every issue noted, where it is not.

    Args:
        path: The file, UTF-8.
        form: What it must hold.
        issues: Takes what is wrong; a byte order mark is noted, too, and the object read all the same.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(path) as file:
        content = file.read()
    if content.startswith(BOM):
        issues.add("bytes", *_NO_BOM)
    try:
        value = read_json(content.removeprefix(BOM).decode("utf-8"))
    except UnicodeDecodeError as error:
        issues.add("bytes", "Expected UTF-8, but got", f"byte 0x{content.removeprefix(BOM)[error.start]:02x}")
    except ValueError as error:
        issues.add("text", "Expected one JSON object, but got", str(error))
    else:
        return validate_value(value, form, issues, "")
    return None


def _decode(line: bytes, where: str, first: bool, issues: Problems, layout_issues: Problems) -> str | None:
    """A line's text without its end, its issues noted; None where it has none that can be read."""
    if first and line.startswith(BOM):
        layout_issues.add("bytes", *_NO_BOM)
        line = line.removeprefix(BOM)
    if line.endswith(b"\r\n"):
        layout_issues.add(
            "lines", "Expected each to end with a line feed alone, but a carriage return is before that of", where
        )
    try:
        text = line.decode("utf-8").strip(" \t\r\n")
    except UnicodeDecodeError as error:
        issues.add("bytes", "Expected UTF-8, but got", f"byte 0x{line[error.start]:02x} ({where})")
        return None
    if not text:
        layout_issues.add("lines", "Expected one JSON object in each, but got", f"nothing ({where})")
        return None
    return text


def validate_value(value: object, row_type: type[RowType], issues: Problems, where: str) -> RowType | None:
    """A JSON value as the form asked for; None, with every issue and its place noted, where it has another."""
    try:
        return row_type.model_validate(value)
    except ValidationError as error:
        _note_errors(error, row_type, where, issues)
        return None


def _note_errors(error: ValidationError, row_type: type[BaseModel], where: str, issues: Problems) -> None:
    """Note pydantic's errors of one value in our words; entries of a list are named by their number."""
    for detail in error.errors(include_url=False):
        loc = detail["loc"]
        field = ".".join(printable(part[:60]) for part in loc if isinstance(part, str)) or "rows"
        entries = [f"entry {part + 1}" for part in loc if isinstance(part, int)]
        place = ", ".join([*([where] if where else []), *entries]) or "the file"
        kind = detail["type"]
        if kind == "missing":
            issues.add(field, "Expected this field, but it is missing from", place)
        elif kind == "extra_forbidden":
            known = _listed(list(row_type.model_fields)) if len(loc) == 1 else "the official ones"
            issues.add("fields", f"Expected {known}, but got", f"{describe(loc[-1])} ({place})")
        else:
            bound = _BOUNDS.get(kind, "").format(**detail.get("ctx", {}))
            wanted = _KINDS.get(kind) or bound or "a value of the official form"
            value = describe(detail["input"])
            issues.add(field, f"Expected {wanted}, but got", f"{value} ({place})" if place != "the file" else value)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
