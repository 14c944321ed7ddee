"""Typed fields of forms: each takes a cell of CSV or a value of JSON, or says what was expected in its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from string import ascii_uppercase
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from lmms_eval_tasks.utils.core.files import is_safe
from lmms_eval_tasks.utils.core.text import is_utf8, quote

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
    """Marks the field that names a row in messages, and that no two rows have alike: ``Annotated[Text, Key]``."""


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

    def __init__(self, values: Sequence[str], also: Mapping[str, str] = MappingProxyType({})) -> None:
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
