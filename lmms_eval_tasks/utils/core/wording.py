"""How messages quote a value and list names, so that neither grows without bound."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches


def quote(value: object, longest: int = 60) -> str:
    """A text in backquotes, without the white space around it, or any other value as JSON, in backquotes, too.

    Characters that a terminal would not show, or would obey, are escaped. What is longer than `longest` characters is
    cut there.
    """
    return _in_backquotes(value.strip() if isinstance(value, str) else _as_json(value), longest)


def describe(value: object, longest: int = 60) -> str:
    """A value of a file that may hold anything, fit to be printed.

    A text is in backquotes with the white space around it, cut after `longest` characters, with odd characters escaped.
    A list or an object is only called so. Any other value is as `quote` has it.
    """
    if isinstance(value, str):
        return _in_backquotes(value, longest)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return quote(value, longest)


def printable(text: str) -> str:
    """A text with the characters escaped that a terminal would not show, or would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, whose line feeds stay."""
    return "\n".join(map(printable, text.split("\n")))


def count_bytes(number: int) -> str:
    """A number of bytes in the unit that shows it best: ``512 bytes``, ``1.5 MB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no lone surrogate, as Python reads other bytes of file names."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_surrogates(text: str) -> str:
    """A text that can be written as UTF-8: a lone surrogate is the escape that JSON has for it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def first_line(error: BaseException) -> str:
    """The first line of an error's text, its type where it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def suggest(name: str, known: Iterable[str]) -> str:
    """A sentence that names the known name nearest to one that is not known; empty where none is near."""
    nearest = get_close_matches(name, list(known), n=1)
    return f" Did you mean {nearest[0]}?" if nearest else ""


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, RecursionError):
        return str(type(value).__name__)


def _in_backquotes(text: str, longest: int) -> str:
    return f"`{printable(text[:longest])}…`" if len(text) > longest else f"`{printable(text)}`"


def summarize_names(names: Iterable[object], limit: int = 5, separator: str = ", ") -> str:
    """The first `limit` names, and how many more there are; empty where there is none."""
    every = [str(name) for name in names]
    more = [f"… and {len(every) - limit} more"] if len(every) > limit else []
    return separator.join([*every[:limit], *more])
