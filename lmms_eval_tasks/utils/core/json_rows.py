"""JSON files from any source, one object or one per line: every issue noted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.problems import GroupedIssues
from lmms_eval_tasks.utils.core.strict_json import read_json
from lmms_eval_tasks.utils.core.wording import describe, escape_surrogates, is_utf8, printable

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
    path: Path, row_type: type[RowType], issues: GroupedIssues, exact: bool = True
) -> Iterator[tuple[str, RowType]]:
    """The rows of a file that have the form asked for, each with its place ("line 3").

    Time is linear in the file's size and one line is in memory at a time. Noted as issues: bytes that are not UTF-8, a
    byte order mark, line ends other than a line feed, empty lines, what `read_json` refuses, and fields that are
    missing, too many, or of another type. A file that no other program will read need not be `exact`: then a byte order
    mark, carriage returns and empty lines are no issues.

    Raises:
        OSError: the file cannot be read.
    """
    layout_issues = issues if exact else GroupedIssues()
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


def read_object(path: Path, form: type[RowType], issues: GroupedIssues) -> RowType | None:
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


def _decode(line: bytes, where: str, first: bool, issues: GroupedIssues, layout_issues: GroupedIssues) -> str | None:
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


def validate_value(value: object, row_type: type[RowType], issues: GroupedIssues, where: str) -> RowType | None:
    """A JSON value as the form asked for; None, with every issue and its place noted, where it has another."""
    try:
        return row_type.model_validate(value)
    except ValidationError as error:
        _note_errors(error, row_type, where, issues)
        return None


def _note_errors(error: ValidationError, row_type: type[BaseModel], where: str, issues: GroupedIssues) -> None:
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
