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

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.fields import MISMATCH, Key
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.text import describe, escape_surrogates, is_utf8, printable, quote, summarize_names

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
        self._rows = _read_cells(content)
        _, header = next(self._rows, (0, []))
        self.columns = [name.strip() for name in header]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
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
TOO_DEEP = "values nested too deeply"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: str) -> Any:
    return _read(text, parse_constant=refuse_constant, object_pairs_hook=_unique)


def read_written_json(text: str) -> Any:
    """Return the value of a JSON text that Python wrote, which may hold NaN and Infinity."""
    value = _read(text)
    if text.count("[") + text.count("{") > DEEPEST and _reaches(value, DEEPEST + 1):
        raise ValueError(TOO_DEEP)
    return value


def _read(text: str, **options: Any) -> Any:
    try:
        return json.loads(text, parse_int=_whole, **options)
    except json.JSONDecodeError as error:
        what = "text after the value" if error.msg == "Extra data" else "no JSON"
        raise ValueError(f"{what} from character {error.pos + 1} on") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _reaches(value: object, level: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return level == 0 or any(_reaches(one, level - 1) for one in inner)


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
        raise ValueError(TOO_DEEP) from None
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
    "string_too_short": "a text that is not empty",
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


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


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
    layout = issues if exact else Problems()
    expected = "Expected one JSON object in each, but got"
    number = 0
    with open_regular(path) as file:
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            where = f"line {number}"
            if len(line) > LONGEST_LINE:
                clause = f"Expected none longer than {LONGEST_LINE:,} bytes, but there is"
                issues.add("lines", clause, where, "Nothing after it was read.")
                return
            if number == 1 and line.startswith(BOM):
                layout.add("bytes", *_NO_BOM)
                line = line.removeprefix(BOM)
            if line.endswith(b"\r\n"):
                clause = "Expected each to end with a line feed alone, but a carriage return is before that of"
                layout.add("lines", clause, where)
            try:
                text = line.decode("utf-8").strip(" \t\r\n")
                if text and (row := validate_value(read_json(text), row_type, issues, where)):
                    yield where, row
                elif not text:
                    layout.add("lines", expected, f"nothing ({where})")
            except UnicodeDecodeError as error:
                issues.add("bytes", "Expected UTF-8, but got", f"byte 0x{line[error.start]:02x} ({where})")
            except ValueError as error:
                issues.add("lines", expected, f"{error} ({where})")
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


def read_written_object(
    path: Path, form: type[RowType], what: str, damaged: type[InputError] = InputError
) -> tuple[RowType, Any]:
    """Return the object in a file that Python wrote, also as JSON values; `damaged` is raised where it is no JSON."""
    with open_regular(path) as file:
        content = file.read()
    try:
        value = read_written_json(content.decode("utf-8"))
    except ValueError as error:
        got = "bytes that are not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise damaged(f"{path} is not {what}: Expected JSON, but got {got}.") from None
    issues = Problems()
    found = validate_value(value, form, issues, "")
    issues.raise_if_any(f"{path} is not {what}")
    assert found is not None
    return found, value


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
        if detail["type"] == "missing":
            issues.add(field, "Expected this field, but it is missing from", place)
        elif detail["type"] == "extra_forbidden":
            known = _listed(list(row_type.model_fields)) if len(loc) == 1 else "the official ones"
            issues.add("fields", f"Expected {known}, but got", f"{describe(loc[-1])} ({place})")
        else:
            wanted, got = _in_words(detail, field)
            issues.add(field, f"Expected {wanted}, but got", f"{got} ({place})" if place != "the file" else got)


def _in_words(detail: ErrorDetails, field: str) -> tuple[str, str]:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == MISMATCH:
        return context["wanted"].replace("{field}", field), context["got"]
    bound = _BOUNDS.get(kind, "").format(**context)
    return _KINDS.get(kind) or bound or "a value of the official form", describe(detail["input"])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class ReleaseRow(BaseModel):
    """Base of the forms of a release's rows: a pydantic model with a field for each column that is read.

    Other columns are passed over. A field that a row lacks, or has as null, is its default, or a problem where it has
    none. `pydantic.Field(validation_alias=AliasChoices("name", "filename"))` takes a column that releases call
    otherwise.

    Attributes:
        place: The row in its file ("row 2", "line 2", "entry 1").
        where: The same with the file, and with the field that is its `Key`, as problems name it.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)
    _place: str = PrivateAttr("")
    _where: str = PrivateAttr("")

    @property
    def place(self) -> str:
        """The row in its file."""
        return self._place

    @property
    def where(self) -> str:
        """The row as problems name it."""
        return self._where


_OF_A_UNION = (".int", ".str", ".float", ".bool")
"""Parts of an error's place that are no field's, but name the types that a field may have."""
ReleaseType = TypeVar("ReleaseType", bound=ReleaseRow)


class FormRows(list[ReleaseType]):
    """The rows that have their form, the values of those that have not, and the columns of the table."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        super().__init__()
        self.columns = columns
        self.refused: list[Mapping[str, Any]] = []


def read_csv_form(
    form: type[ReleaseType],
    content: bytes,
    file: str,
    problems: Problems,
    together: Sequence[str] = (),
    exact: bool = True,
) -> FormRows[ReleaseType]:
    """The rows of a CSV file that have the form asked for, in the file's order.

    Noted as problems, each with the row: bytes that are no CSV in UTF-8, columns that are missing or there twice, rows
    with more or fewer cells than columns, a key that is there twice, and all cells of a row that are not what its
    fields take.

    Args:
        form: What a row holds; cells are texts.
        content: The file's bytes, whose first row names the columns, in any order and among others.
        file: Its name in messages.
        problems: Takes what is wrong.
        together: Columns of which a file has all or none.
        exact: Whether the rows are numbered as such, from 2 on, with an empty line as a row without cells. Otherwise
            they have the numbers of their lines, empty lines are passed over, and cells that a row lacks are empty.

    Returns:
        The rows, each with its `place` and `where`; a list that also has ``columns``, the file's, and ``refused``, the
        cells of rows that have another form.
    """
    try:
        table = CsvTable(content)
        lines = [(line, cells) for line, cells in table if cells or exact]
    except ValueError as error:
        problems.add(file, str(error))
        return FormRows()
    columns, before = table.columns, len(problems)
    _note_missing(form, columns, table.named, file, problems)
    if table.repeated:
        problems.add(file, f"Expected each column once, but got {table.repeated} again.")
    if 0 < sum(name in columns for name in together) < len(together):
        problems.add(file, f"Expected both columns {_listed(together)} or neither, but got one of them.")
    if not lines:
        problems.add(file, "Expected rows below the header, but got none.")
    if len(problems) > before:
        return FormRows(columns)
    values: list[tuple[str, object]] = []
    short: list[Mapping[str, Any]] = []
    for number, (line, cells) in enumerate(lines, 2):
        place = f"row {number}" if exact else f"line {line}"
        padded = cells if exact else [*cells, *[""] * (len(columns) - len(cells))]
        named = dict(zip(columns, padded, strict=False))
        if len(padded) == len(columns):
            values.append((place, named))
        else:
            problems.add(f"{file}, {place}", f"Expected {len(columns)} cells, but got {len(cells)}.")
            short.append(named)
    rows = _read_form(form, values, file, problems, columns)
    rows.refused += short
    return rows


def read_json_form(
    form: type[ReleaseType],
    content: bytes | Sequence[Mapping[str, Any]],
    file: str,
    problems: Problems,
    lines: bool = False,
) -> FormRows[ReleaseType]:
    """The objects of a JSON file that have the form asked for, in the file's order; problems as of `read_csv_form`.

    JSON is read as releases have it: with NaN, and of a field that is there twice the last.

    Args:
        form: What an object holds.
        content: The file's bytes: a list of objects; or objects that are read already, as from a Parquet table, of
            which all have the columns of the first.
        file: Its name in messages.
        problems: Takes what is wrong.
        lines: Whether each line is an object of its own; empty lines are passed over.

    Returns:
        The rows; a list that also has ``columns`` and ``refused``, as `read_csv_form` gives it.
    """
    before = len(problems)
    values: list[tuple[str, object]] = []
    columns: Sequence[str] = ()
    if not isinstance(content, bytes):
        values = [(f"row {number}", value) for number, value in enumerate(content, 1)]
        columns = list(content[0]) if content else ()
        if values and _note_missing(form, columns, ", ".join(columns), file, problems):
            return FormRows(columns)
    elif lines:
        for number, text in enumerate(content.split(b"\n"), 1):
            try:
                values += [(f"line {number}", read_released_json(text))] if text.strip() else []
            except ValueError as error:
                problems.add(f"{file}, line {number}", f"Expected a JSON object in UTF-8, but got: {error}.")
    else:
        try:
            found = read_released_json(content)
        except ValueError as error:
            problems.add(file, f"Expected JSON in UTF-8, but got: {error}.")
        else:
            if isinstance(found, list):
                values = [(f"entry {number}", value) for number, value in enumerate(found, 1)]
            else:
                problems.add(file, f"Expected a list of objects, but got {quote(found)}.")
    if not values and len(problems) == before:
        problems.add(file, "Expected rows, but got none.")
    return _read_form(form, values, file, problems, columns)


def _names(form: type[ReleaseRow], field: str) -> list[str]:
    alias = form.model_fields[field].validation_alias
    return [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else [str(alias or field)]


def _note_missing(
    form: type[ReleaseRow], columns: Sequence[str], named: str, file: str, problems: Problems
) -> list[str]:
    needed = [" or ".join(names) for names in _required(form) if not set(names) & set(columns)]
    for name in needed:
        problems.add(file, f"Expected a column {name}, but the columns are {named or 'missing'}.")
    return needed


def _required(form: type[ReleaseRow]) -> list[list[str]]:
    return [_names(form, name) for name, field in form.model_fields.items() if field.is_required()]


def _read_form(
    form: type[ReleaseType],
    values: Iterable[tuple[str, object]],
    file: str,
    problems: Problems,
    columns: Sequence[str],
) -> FormRows[ReleaseType]:
    rows: FormRows[ReleaseType] = FormRows(columns)
    key = next((name for name, field in form.model_fields.items() if Key in field.metadata), "")
    required = _required(form)
    first: dict[str, str] = {}
    for place, value in values:
        where = f"{file}, {place}"
        if not isinstance(value, Mapping):
            problems.add(where, f"Expected an object, but got {quote(value)}.")
            continue
        if key:
            named = "" if value.get(key) is None else str(value[key]).strip()
            where += f" ({key} {named or 'missing'})"
            if named and first.setdefault(named, place) != place:
                problems.add(where, f"Expected each {key} once, but {first[named]} has it too.")
        known = {name: one for name, one in value.items() if one is not None}
        # A field that is not there is read as null, so that its own words say what was expected.
        lacking = {names[0]: None for names in required if not known.keys() & names}
        try:
            row = form.model_validate({**lacking, **known})
        except ValidationError as error:
            rows.refused.append(value)
            clauses: dict[str, tuple[str, str]] = {}
            for detail in error.errors(include_url=False):
                parts = [f", entry {one + 1}" if isinstance(one, int) else f".{one}" for one in detail["loc"]]
                path = "".join(part for part in parts if part not in _OF_A_UNION)[1:]
                wanted, got = _in_words(detail, path)
                before = clauses[path][0] if path in clauses else "" if detail["type"] == MISMATCH else f"{path} to be"
                clauses[path] = (f"{before} or {wanted}" if path in clauses else f"{before} {wanted}".strip()), got
            for wanted, got in clauses.values():
                problems.add(where, f"Expected {wanted}, but got {got}.")
        else:
            row._place, row._where = place, where
            rows.append(row)
    return rows
