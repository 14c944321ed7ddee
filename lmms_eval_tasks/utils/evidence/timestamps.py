"""Times in an answer or the release, in whole seconds, as the official CaST-Bench code reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Key = tuple[str, int]
_Read = TypeVar("_Read")

LAST_SECOND = 2**36
"""Later times count as this one. The official code makes a list entry for each second and never gets so far."""

# Python itself refuses to convert more digits, so the official code stops there.
_MAX_DIGITS = 4300
_LONGEST_REMEMBERED = 32

_TWO_DIGITS = re.compile(r"\d{2}:\d{2}")
_MINUTES = re.compile(r"\d+:[0-5]\d", re.ASCII)
_NUMBER = re.compile(r"\d+(\.\d+)?")
_DIGITS = re.compile(r"\d+")


def _of_any_value(read: Callable[[str], _Read]) -> Callable[[object], _Read]:
    """Let a function that reads a text take any value."""
    remembered = lru_cache(maxsize=8192)(read)

    @wraps(read)
    def read_value(value: object) -> _Read:
        try:
            text = "" if value is None else str(value).strip()
            return (remembered if len(text) <= _LONGEST_REMEMBERED else read)(text)
        except (ValueError, RecursionError):  # an integer of 5,000 digits, a list too deep for a text
            return read("")

    return read_value


@_of_any_value
def official_seconds(text: str) -> int:
    """Whole seconds of a time as ``to_seconds`` reads it, 0 where it finds none, at most `LAST_SECOND`.

    A plain number is seconds. In any other text the first groups of digits count: three or more as hours, minutes,
    seconds, two as minutes, seconds, so that ``00:05.5`` is 305. A number too long for the official code is
    `LAST_SECOND`.
    """
    if _NUMBER.fullmatch(text):
        return int(min(float(text), LAST_SECOND))
    groups = [_integer(digits) for digits in _DIGITS.findall(text)[:3]]
    if len(groups) == 3:
        return min(3600 * groups[0] + 60 * groups[1] + groups[2], LAST_SECOND)
    if len(groups) == 2:
        return min(60 * groups[0] + groups[1], LAST_SECOND)
    return groups[0] if groups else 0


@_of_any_value
def official_key(text: str) -> Key:
    """A time of a prediction as the official code rewrites it, and the whole seconds that it then reads.

    Two keys of one evidence with the same rewritten text are one key for the official code, the later value wins.
    """
    rewritten = text if _TWO_DIGITS.fullmatch(text) else None
    if rewritten is None and ":" in text:
        rewritten = _clock_text(text.split(":"))
    if rewritten is None:
        rewritten = _whole_text(text)
    return rewritten, official_seconds(rewritten)


@_of_any_value
def official_truth_key(text: str) -> Key:
    """The second of a released box as the official code rewrites it, and the whole seconds that it then reads."""
    if ":" not in text:
        rewritten = _whole_text(text)
        return rewritten, official_seconds(rewritten)
    parts = text.split(":")
    clock = _clock_text(parts)
    if clock is None:
        try:
            clock = f"00:{_integer(parts[-1]):02d}"
        except ValueError:
            clock = text
    return clock, official_seconds(clock)


def is_clock(text: str) -> bool:
    """Whether a text is a time as CaST-Bench asks for it: ``mm:ss`` with ASCII digits, seconds below 60.

    White space around it does no harm.
    """
    return _MINUTES.fullmatch(text.strip()) is not None


def _integer(digits: str) -> int:
    """``int(digits)``, at most `LAST_SECOND`."""
    if len(digits) > _MAX_DIGITS:
        if digits.isdecimal():
            return LAST_SECOND
        raise ValueError(f"Expected an integer but got {len(digits)} characters.")
    return min(int(digits), LAST_SECOND)


def _clock_text(parts: list[str]) -> str | None:
    """``mm:ss`` of two or three groups of digits, None for anything else."""
    if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
        return None
    try:
        numbers = [_integer(part) for part in parts]
    except ValueError:  # "²" is a digit to str.isdigit and none to int; the official code stops here
        return None
    if len(numbers) == 2:
        return f"{numbers[0]:02d}:{numbers[1]:02d}"
    total = 3600 * numbers[0] + 60 * numbers[1] + numbers[2]
    return f"{total // 60:02d}:{total % 60:02d}"


def _whole_text(text: str) -> str:
    """``00:ss`` of a number in any form that ``float`` takes, the text itself for anything else."""
    try:
        number = float(text)
        if _NUMBER.fullmatch(text):
            number = min(number, float(LAST_SECOND))
        return f"00:{int(number):02d}"
    except (ValueError, OverflowError):
        return text
