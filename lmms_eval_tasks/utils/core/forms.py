"""CSV, JSON and Parquet from any source, read strictly into typed rows, with every problem noted; fields of rows."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import is_safe, open_regular
from lmms_eval_tasks.utils.core.text import describe, escape_surrogates, is_utf8, printable, quote, summarize_names

if TYPE_CHECKING:
    import pyarrow

LONGEST_CELL = 1 << 24
"""Characters; Python's own limit, 131,072, is less than a long answer may have."""
LONGEST_LINE = 1 << 24
"""Bytes; a longer line is no row, and is not looked into."""
LONGEST_NUMBER = 300
"""Digits of a whole number that a float can still hold."""
DEEPEST = 100
"""Lists and objects one inside the other that a program of ours can still walk through."""
TOO_DEEP = "values nested too deeply"
BOM = b"\xef\xbb\xbf"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(content: str | bytes, exact: bool = True) -> Any:
    """Return the value of a JSON text, of bytes in UTF-8; ValueError says why it is none.

    Without `exact` it may hold what Python writes and other programs refuse: NaN, Infinity, and a field twice.
    """
    options: dict[str, Any] = {"parse_constant": refuse_constant, "object_pairs_hook": _unique} if exact else {}
    text = _decoded(content)
    try:
        value = json.loads(text, parse_int=_whole, **options)
    except json.JSONDecodeError as error:
        what = "text after the value" if error.msg == "Extra data" else "no JSON"
        line = f"line {error.lineno}, " if "\n" in text.strip() else ""
        raise ValueError(f"{what} from {line}character {error.colno} on") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEEPEST and _reaches(value, DEEPEST + 1):
        raise ValueError(TOO_DEEP)
    return value


def read_released_json(content: str | bytes) -> Any:
    """The value of a JSON text of a release, which may hold NaN, Infinity and one field twice as Python reads them.

    Args:
        content: The text; bytes are UTF-8 with or without a byte order mark.

    Raises:
        ValueError: it is not JSON in UTF-8, is nested too deeply, or a text in it has a lone surrogate, which no table
            can hold.
    """
    text = _decoded(content).removeprefix("\ufeff")
    value = read_json(text, exact=False)
    try:
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a text with the lone surrogate {ascii(error.object[error.start])[1:-1]}") from None
    return value


def _decoded(content: str | bytes) -> str:
    try:
        return content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{content[error.start]:02x}, which is not UTF-8") from None


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
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _reaches(value: object, level: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return level == 0 or any(_reaches(one, level - 1) for one in inner)


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


def read_parquet(path: Path) -> pyarrow.Table:
    """Return the table of a file, with texts and lists in one form, however its writer kept them."""
    import pyarrow.parquet

    open_regular(path).close()
    # `read_table` would take the names of folders for columns of the table; a name need not be UTF-8.
    with pyarrow.OSFile(os.fsencode(path)) as source, pyarrow.parquet.ParquetFile(source) as file:
        table = file.read()
    plain = pyarrow.schema([field.with_type(_plain_type(field.type)) for field in table.schema], table.schema.metadata)
    return table if plain.equals(table.schema) else table.cast(plain)


def _plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Return the type that holds the same values as those of a dictionary or a view, for programs that know neither."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return pa.string() if pa.types.is_string_view(kind) else pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    return kind


MISMATCH = "mismatch"
_OPTION = re.compile(r"([0-9]+)\s*\.\s*(\S.*)", re.DOTALL)


def mismatch(wanted: str, got: object) -> PydanticCustomError:
    """An error for a validator of a field's own to raise; the reader adds the field's name and its place.

    Args:
        wanted: What was expected: "in seconds" for "Expected start to be in seconds, but got `x`.", or with the field
            in it, "a time as {field}" for "Expected a time as start, but got `x`."
        got: The value; a text that is empty, and None, are none.
    """
    clause = wanted if "{field}" in wanted else f"{{field}} to be {wanted}"
    is_none = got is None or (isinstance(got, str) and not got.strip())
    context = {"wanted": clause, "got": "none" if is_none else quote(got)}
    return PydanticCustomError(MISMATCH, "Expected {wanted}, but got {got}.", context)


class Key:
    """Marks the field that names a row in messages, and that no two rows have alike: ``Annotated[Text, Key]``.

    Several such fields name it together.
    """


def _without_surrogates(text: str) -> str:
    if not is_utf8(text):
        raise PydanticCustomError("string_unicode", "a text of whole Unicode characters")
    return text


WholeText = Annotated[str, AfterValidator(_without_surrogates)]
"""A text that a table can hold: without a lone surrogate, which JSON can spell and UTF-8 cannot."""


def _filled(value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise mismatch("a {field}", value)
    if not is_utf8(value):
        raise mismatch("a text of whole Unicode characters", value)
    return value


RawText = Annotated[str, BeforeValidator(_filled)]
"""A text with more in it than white space, as it was released."""
Text = Annotated[RawText, AfterValidator(str.strip)]
"""The same without the white space around it."""
Cell = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value).strip())]
"""A text without the white space around it, which may be empty; what is no text is written as one."""


class OneOf:
    """Marks a text that is one of some values: ``Annotated[str, OneOf(("easy", "hard"))]``.

    White space around it does not count, nor does case where no value has an upper-case letter.

    Args:
        values: What the row may have.
        also: Other ways of writing some of them.
    """

    def __init__(self, values: Iterable[str], also: Mapping[str, str] = MappingProxyType({})) -> None:
        self._known = {**{value: value for value in values}, **also}
        self._has_case = any(value != value.lower() for value in self._known)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def _read(self, value: object) -> str:
        text = value.strip() if isinstance(value, str) else ""
        found = self._known.get(text if self._has_case else text.lower())
        if found is None:
            raise mismatch(f"one of {', '.join(self._known)}", value)
        return found


def _clip_name(value: object) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not is_safe(name):
        raise mismatch("{field} to name a clip's file", value)
    return str(PurePosixPath(name))


ClipName = Annotated[str, BeforeValidator(_clip_name)]
"""The path of a clip below its folder, as `is_safe` allows it, with single slashes."""


def read_numbered_options(value: object) -> dict[str, str]:
    """The options of one question, written as ``N. text|N. text``: number to text, in their order."""
    options: dict[str, str] = {}
    for part in str(value or "").split("|"):
        match = _OPTION.fullmatch(part.strip())
        if match is None:
            raise mismatch("options as `N. text|N. text` in {field}", part)
        number = match[1].lstrip("0") or "0"
        if number in options:
            raise mismatch("each option number once in {field}", part)
        options[number] = match[2]
    if not 2 <= len(options) <= len(ascii_uppercase):
        raise mismatch(f"2 to {len(ascii_uppercase)} options in {{field}}", len(options))
    return options


NumberedOptions = Annotated[dict[str, str], BeforeValidator(read_numbered_options)]
"""The options of a question, written as ``N. text|N. text``: number, without leading zeros, to text."""


class RowForm(BaseModel):
    """Base of the forms of a file's rows: a pydantic model with exactly its fields, no value changed into another type.

    Rows are frozen. `read_rows` notes what a row has otherwise, in words for the user. A JSON list is a `list[…]`,
    never a tuple; `pydantic.Field(min_length=3, max_length=3)` says how long it is.
    """

    # A form is built when the first row is read: commands import many and read few.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class ReleaseRow(RowForm):
    """Base of the forms of a release's rows: a `RowForm` with a field for each column that is read.

    Other columns are passed over. A field that a row lacks, or has as null, is its default, or a problem where it has
    none. `pydantic.Field(validation_alias=AliasChoices("name", "filename"))` takes a column that releases call
    otherwise.

    Attributes:
        place: The row in its file ("row 2", "line 2", "entry 1").
        where: The same with the file, and with the field that is its `Key`, as problems name it.
    """

    model_config = ConfigDict(extra="ignore")
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

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """Read a field that is not there as null, so that its own words say what was expected."""
        if not isinstance(value, Mapping):
            return value
        known = {name: one for name, one in value.items() if one is not None}
        return {**{names[0]: None for names in _required(cls) if not known.keys() & names}, **known}


RowType = TypeVar("RowType", bound=RowForm)
ReleaseType = TypeVar("ReleaseType", bound=ReleaseRow)

_WANTED = {
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
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "extra_forbidden": "left out",
    MISMATCH: "{wanted}",
}
"""Pydantic's errors in our words."""
_OF_A_UNION = ("int", "str", "float", "bool")
"""Parts of an error's place that are no field's, but name the types that a field may have."""


def validate_value(value: object, row_type: type[RowType], issues: Problems, where: str) -> RowType | None:
    """A value as the form asked for; None, with every issue and its place noted, where it has another.

    Issues are grouped by field. Those of a `ReleaseRow` are listed by row, next to what else is wrong with it.
    """
    try:
        return row_type.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    # What a field of several types could have been is one issue.
    found: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for detail in errors:
        found.setdefault(tuple(part for part in detail["loc"] if part not in _OF_A_UNION), []).append(detail)
    for loc, details in found.items():
        words = (
            _WANTED.get(one["type"], "a value of the official form").format(**one.get("ctx", {})) for one in details
        )
        clause, (*_, detail) = " or ".join(words), details
        kind, field = detail["type"], ".".join(printable(part[:60]) for part in loc if isinstance(part, str))
        entries = [f"entry {part + 1}" for part in loc if isinstance(part, int)]
        got = detail["ctx"]["got"] if kind == MISMATCH else describe(detail["input"])
        if issubclass(row_type, ReleaseRow):
            clause = clause if "{field}" in clause or not field else f"{{field}} to be {clause}"
            issues.add(where, f"Expected {_with_field(clause, ', '.join([field, *entries]))}, but got {got}.")
            continue
        place = ", ".join(filter(None, [where, *entries])) or "the file"
        if kind == "missing":
            issues.add(field, "Expected this field, but it is missing from", place)
        elif kind == "extra_forbidden":
            known = _listed(list(row_type.model_fields)) if len(loc) == 1 else "the official ones"
            issues.add("fields", f"Expected {known}, but got", f"{describe(loc[-1])} ({place})")
        else:
            case = f"{got} ({place})" if place != "the file" else got
            issues.add(field or "rows", f"Expected {_with_field(clause, field)}, but got", case)
    return None


def _with_field(clause: str, field: str) -> str:
    article = "an {field}" if field.startswith(tuple("aeiou")) else "a {field}"
    return clause.replace("a {field}", article).replace("{field}", field)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


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
            if number == 1:
                line = _without_bom(line, layout)
            if line.endswith(b"\r\n"):
                clause = "Expected each to end with a line feed alone, but a carriage return is before that of"
                layout.add("lines", clause, where)
            try:
                if not (text := line.strip(b" \t\r\n")):
                    layout.add("lines", expected, f"nothing ({where})")
                elif row := validate_value(read_json(text), row_type, issues, where):
                    yield where, row
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
        content = _without_bom(file.read(), issues)
    try:
        value = read_json(content)
    except ValueError as error:
        issues.add("text", "Expected one JSON object, but got", str(error))
        return None
    return validate_value(value, form, issues, "")


def _without_bom(content: bytes, issues: Problems) -> bytes:
    if content.startswith(BOM):
        issues.add("bytes", "Expected UTF-8 without a byte order mark, but there is one at", "the file's start")
    return content.removeprefix(BOM)


def read_written_object(
    path: Path, form: type[RowType], what: str, damaged: type[InputError] = InputError
) -> tuple[RowType, Any]:
    """Return the object in a file that Python wrote, also as JSON values; `damaged` is raised where it is no JSON."""
    with open_regular(path) as file:
        content = file.read()
    try:
        value = read_json(content, exact=False)
    except ValueError as error:
        raise damaged(f"{path} is not {what}: Expected JSON, but got {error}.") from None
    issues = Problems()
    found = validate_value(value, form, issues, "")
    issues.raise_if_any(f"{path} is not {what}")
    assert found is not None
    return found, value


class FormRows(list[ReleaseType]):
    """The rows that have their form, the values of those that have not, and the columns of the table."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        super().__init__()
        self.columns = columns
        self.refused: list[Mapping[str, Any]] = []


class CsvTable:
    """The columns of a CSV file, and once its rows, each with the line that it ends in; ValueError where it is none."""

    def __init__(self, content: bytes) -> None:
        try:
            content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"Expected a CSV file in UTF-8, but byte {error.start} is not.") from error
        csv.field_size_limit(LONGEST_CELL)
        # A text in memory would take four bytes a character.
        self._reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""), strict=True)
        _, header = next(iter(self), (0, []))
        self.columns = [name.strip() for name in header]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        try:
            for cells in self._reader:
                yield self._reader.line_num, cells
        except csv.Error as error:
            line = self._reader.line_num
            raise ValueError(f"Expected a CSV file, but line {line} is not CSV ({error}).") from error


def read_csv(source: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file, each with its place ("scores.csv, line 3"); a cell that a row lacks is empty.

    Args:
        source: The file, UTF-8 with or without a byte order mark, whose first row names the columns.
        columns: Columns that must be there, in any order and among others.

    Raises:
        InputError: where the file cannot be read, is not UTF-8 or not CSV, lacks columns or names one twice, or rows
            have more cells than there are columns; all problems at once.
    """
    problems = Problems()
    _, rows, _ = _csv_rows(read_content(source), [[name] for name in columns], source.name, problems, exact=False)
    problems.raise_if_any(f"{source.name} cannot be used")
    yield from ((f"{source.name}, {place}", cells) for place, cells in rows)


def read_content(source: Path) -> bytes:
    try:
        with open_regular(source) as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{source.name} cannot be used: {error.strerror or error}.") from error


Cells = list[tuple[str, dict[str, str]]]
"""Rows of a CSV file, each with its place."""


def _csv_rows(
    content: bytes,
    needed: Sequence[Sequence[str]],
    file: str,
    problems: Problems,
    exact: bool,
    together: Sequence[str] = (),
) -> tuple[list[str], Cells, Cells]:
    """Return a CSV file's columns, its rows, and the rows with another number of cells; none of it where columns are
    wrong. Of each column in `needed` there are several names; other arguments are those of `read_csv_form`."""
    rows, others, before = Cells(), Cells(), len(problems)
    try:
        table = CsvTable(content)
        lines = [(line, cells) for line, cells in table if cells or exact]
    except ValueError as error:
        problems.add(file, str(error))
        return [], rows, others
    columns = table.columns
    _note_missing(needed, columns, file, problems)
    # A column without a name is none.
    if repeated := [name for name in dict.fromkeys(columns) if name and columns.count(name) > 1]:
        problems.add(file, f"Expected each column once, but got {_named(repeated)} again.")
    if 0 < sum(name in columns for name in together) < len(together):
        problems.add(file, f"Expected both columns {_listed(together)} or neither, but got one of them.")
    for number, (line, cells) in enumerate(lines if len(problems) == before else (), 2):
        place = f"row {number}" if exact else f"line {line}"
        lacking = len(columns) - len(cells)
        fits = lacking == 0 or (lacking > 0 and not exact)
        (rows if fits else others).append((place, dict(zip(columns, [*cells, *[""] * lacking], strict=False))))
        if not fits:
            problems.add(f"{file}, {place}", f"Expected {len(columns)} cells, but got {len(cells)}.")
    return columns, rows, others


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
    before = len(problems)
    columns, rows, others = _csv_rows(content, _required(form), file, problems, exact, together)
    if not rows and len(problems) == before:
        problems.add(file, "Expected rows below the header, but got none.")
    read = _read_form(form, rows, file, problems, columns)
    read.refused += [cells for _, cells in others]
    return read


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
        columns = list(content[0]) if content else ()
        if content and _note_missing(_required(form), columns, file, problems):
            return FormRows(columns)
        values = [(f"row {number}", value) for number, value in enumerate(content, 1)]
    elif lines:
        for number, text in enumerate(content.split(b"\n"), 1):
            try:
                values += [(f"line {number}", read_released_json(text))] if text.strip() else []
            except ValueError as error:
                problems.add(f"{file}, line {number}", f"Expected a JSON object, but got {error}.")
    else:
        try:
            found = read_released_json(content)
        except ValueError as error:
            problems.add(file, f"Expected JSON, but got {error}.")
        else:
            if isinstance(found, list):
                values = [(f"entry {number}", value) for number, value in enumerate(found, 1)]
            else:
                problems.add(file, f"Expected a list of objects, but got {quote(found)}.")
    if not values and len(problems) == before:
        problems.add(file, "Expected rows, but got none.")
    return _read_form(form, values, file, problems, columns)


def _required(form: type[ReleaseRow]) -> list[list[str]]:
    """Return the names that a column may have of each field without a default."""
    aliases = [field.validation_alias or name for name, field in form.model_fields.items() if field.is_required()]
    return [list(map(str, alias.choices)) if isinstance(alias, AliasChoices) else [str(alias)] for alias in aliases]


def _note_missing(needed: Sequence[Sequence[str]], columns: Sequence[str], file: str, problems: Problems) -> bool:
    missing = [" or ".join(names) for names in needed if not set(names) & set(columns)]
    if missing:
        wanted = f"{'columns' if len(missing) > 1 else 'a column'} {_listed(missing)}"
        problems.add(file, f"Expected {wanted}, but the columns are {_named(columns) or 'missing'}.")
    return bool(missing)


def _named(columns: Sequence[str]) -> str:
    return summarize_names((describe(name)[1:-1] for name in columns), 20)


def _read_form(
    form: type[ReleaseType], values: Iterable[tuple[str, object]], file: str, problems: Problems, columns: Sequence[str]
) -> FormRows[ReleaseType]:
    rows: FormRows[ReleaseType] = FormRows(columns)
    keys = [name for name, field in form.model_fields.items() if Key in field.metadata]
    first: dict[tuple[str, ...], str] = {}
    for place, value in values:
        where, cells = f"{file}, {place}", value if isinstance(value, Mapping) else {}
        if keys and cells:
            named = tuple("" if cells.get(key) is None else str(cells[key]).strip() for key in keys)
            known = [f"{key} {name}" for key, name in zip(keys, named, strict=True) if name]
            where += f" ({', '.join(known) or f'{keys[0]} missing'})"
            if known and first.setdefault(named, place) != place:
                wanted = f"Expected each {_listed(keys)} once, but {first[named]} has"
                problems.add(where, f"{wanted} {'them' if keys[1:] else 'it'} too.")
        if row := validate_value(value, form, problems, where):
            row._place, row._where = place, where
            rows.append(row)
        elif isinstance(value, Mapping):
            rows.refused.append(value)
    return rows
