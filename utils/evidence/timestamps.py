"""Times in a model's answer, in whole seconds: as the official CaST-Bench code reads them, and as they are meant.

Official rules: CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py` (``to_mmss`` for predictions,
``normalize_time_key`` for the release) followed by `metrics_core.py` (``to_seconds``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

Key = tuple[str, int]
_Read = TypeVar("_Read")

LAST_SECOND = 2**36
"""Later times count as this one. The official code makes a list entry for each second and never gets so far."""

# Python itself refuses to convert more digits, so the official code stops there.
_MAX_DIGITS = 4300
_LONGEST_KEPT = 32
_MOST_KEPT = 8192
_LONGEST_TIME = 64

_TWO_DIGITS = re.compile(r"\d{2}:\d{2}")
_MINUTES = re.compile(r"\d+:[0-5]\d", re.ASCII)
_NUMBER = re.compile(r"\d+(\.\d+)?")
_DIGITS = re.compile(r"\d+")
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+)(?:[.,]\d*)?")
_BARE = re.compile(r"(\d+)(?:[.,]\d*)?\s*(?:s|secs?|seconds?)?", re.IGNORECASE)
_UNITS = re.compile(r"(\d+)\s*m(?:ins?|inutes?)?\s*(\d+)(?:[.,]\d*)?\s*(?:s|secs?|seconds?)?", re.IGNORECASE)


class _Memo(dict[Any, _Read]):
    """What a function reads in each short text, remembered: the same few hundred times make up nearly all of a run."""

    def __init__(self, read: Callable[[str], _Read]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, value: object) -> _Read:
        try:
            read = self._read(str(value).strip())
        except (ValueError, RecursionError):  # no text can be made of it: an integer of 5,000 digits, a deep list
            return self._read("")
        if isinstance(value, str) and len(value) <= _LONGEST_KEPT and len(self) < _MOST_KEPT:
            self[value] = read
        return read


def official_seconds(value: object) -> int:
    """Whole seconds of a time as ``to_seconds`` reads it, 0 where it finds none, at most `LAST_SECOND`.

    A plain number is seconds. In any other text the first groups of digits count: three or more as hours, minutes,
    seconds, two as minutes, seconds, so that ``00:05.5`` is 305. A number too long for the official code is
    `LAST_SECOND`.
    """
    return 0 if value is None else _SECONDS[value] if isinstance(value, str) else _SECONDS.__missing__(value)


def official_key(value: object) -> Key:
    """A time of a prediction as the official code rewrites it, and the whole seconds that it then reads.

    Two keys of one evidence with the same rewritten text are one key for the official code, the later value wins.
    """
    return ("", 0) if value is None else _KEYS[value] if isinstance(value, str) else _KEYS.__missing__(value)


def official_keys(values: Iterable[Hashable]) -> list[Key]:
    """`official_key` of the keys of a map."""
    return [("", 0) if value is None else _KEYS[value] for value in values]


def official_truth_keys(values: Iterable[Hashable]) -> list[Key]:
    """The seconds of released boxes as the official code rewrites them, and the whole seconds that it then reads."""
    return [_TRUTH_KEYS[value] for value in values]


def is_clock(text: str) -> bool:
    """Whether a text is a time as CaST-Bench asks for it, ``mm:ss`` with ASCII digits and seconds below 60."""
    return _IS_CLOCK[text]


def read_seconds(value: object) -> int | None:
    """Whole seconds of a time as a careful reader takes it (``00:05.5`` is 5), None where it is no time.

    Reads ``[h:]m:s`` and bare seconds, both with an optional fraction, which is cut off, ``5s`` and ``1m05s``. Digits
    of any script count. A range, a negative or an infinite number is no time.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return min(value, LAST_SECOND) if value >= 0 else None
    if isinstance(value, float):
        return min(math.floor(value), LAST_SECOND) if math.isfinite(value) and value >= 0 else None
    if not isinstance(value, str) or len(value) > _LONGEST_TIME:
        return None
    text = value.strip().replace("：", ":")
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(group or 0) for group in clock.groups())
        return min(3600 * hours + 60 * minutes + seconds, LAST_SECOND)
    if units := _UNITS.fullmatch(text):
        return min(60 * int(units[1]) + int(units[2]), LAST_SECOND)
    bare = _BARE.fullmatch(text)
    return min(int(bare[1]), LAST_SECOND) if bare else None


def _integer(digits: str) -> int:
    """``int(digits)``, at most `LAST_SECOND`.

    Raises:
        ValueError: where the text is no integer.
    """
    if len(digits) > _MAX_DIGITS:
        if digits.isdecimal():
            return LAST_SECOND
        raise ValueError(f"Expected an integer but got {len(digits)} characters.")
    return min(int(digits), LAST_SECOND)


def _seconds(text: str) -> int:
    if _NUMBER.fullmatch(text):
        return int(min(float(text), LAST_SECOND))
    groups = [_integer(digits) for digits in _DIGITS.findall(text)[:3]]
    if len(groups) == 3:
        return min(3600 * groups[0] + 60 * groups[1] + groups[2], LAST_SECOND)
    if len(groups) == 2:
        return min(60 * groups[0] + groups[1], LAST_SECOND)
    return groups[0] if groups else 0


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


def _key(text: str) -> Key:
    rewritten: str | None = text if _TWO_DIGITS.fullmatch(text) else None
    if rewritten is None and ":" in text:
        rewritten = _clock_text(text.split(":"))
    if rewritten is None:
        rewritten = _whole_text(text)
    return rewritten, _seconds(rewritten)


def _truth_key(text: str) -> Key:
    if ":" not in text:
        rewritten = _whole_text(text)
        return rewritten, _seconds(rewritten)
    parts = text.split(":")
    clock = _clock_text(parts)
    if clock is None:
        try:
            clock = f"00:{_integer(parts[-1]):02d}"
        except ValueError:
            clock = text
    return clock, _seconds(clock)


_SECONDS = _Memo(_seconds)
_KEYS = _Memo(_key)
_TRUTH_KEYS = _Memo(_truth_key)
_IS_CLOCK = _Memo(lambda text: _MINUTES.fullmatch(text) is not None)
