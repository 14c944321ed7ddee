"""JSON by its standard: no NaN, no field twice, nothing after the value; every failure is one plain error."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from lmms_eval_tasks.utils.core.wording import describe

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
