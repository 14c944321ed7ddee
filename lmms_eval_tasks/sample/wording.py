"""The words in which sample questions name things, written and read in one place.

Each kind of option has two wordings, for the two versions of a CausalVQA question.
"""

import re
from collections.abc import Mapping

from lmms_eval_tasks.sample.scenes import COLOURS

BINS = 6

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_SHAPES = {"ball": "round", "block": "square"}

SPEEDS: Mapping[float, str] = {
    0.5: "Half as fast",
    0.75: "Three quarters as fast",
    1.5: "One and a half times as fast",
    2.0: "Twice as fast",
    2.5: "Two and a half times as fast",
    3.0: "Three times as fast",
}
DIRECTIONS: Mapping[tuple[int, int], tuple[str, str]] = {
    (0, -1): ("Straight up", "Towards the top edge"),
    (1, -1): ("Up and to the right", "Towards the top right"),
    (1, 0): ("Straight to the right", "Towards the right edge"),
    (1, 1): ("Down and to the right", "Towards the bottom right"),
    (0, 1): ("Straight down", "Towards the bottom edge"),
    (-1, 1): ("Down and to the left", "Towards the bottom left"),
    (-1, 0): ("Straight to the left", "Towards the left edge"),
    (-1, -1): ("Up and to the left", "Towards the top left"),
}

_OBJECT = re.compile(rf"({'|'.join(COLOURS)}) (ball|block)", re.IGNORECASE)
_REWORDED_OBJECT = re.compile(rf"(round|square) ({'|'.join(COLOURS)}) one", re.IGNORECASE)
_BIN = re.compile(rf"({'|'.join(_ORDINALS)}) bin from the left", re.IGNORECASE)
_REWORDED_BIN = re.compile(r"bin number (\d) counted from the right", re.IGNORECASE)
_PERCENT = re.compile(r"(\d+)% of")


def say_object(name: str, version: int = 0) -> str:
    """An option that names an object such as `red ball`."""
    colour, shape = name.split()
    return f"The {name}" if version == 0 else f"The {_SHAPES[shape]} {colour} one"


def say_bin(number: int, version: int = 0) -> str:
    """An option that names a bin, numbered from 0 at the left."""
    if version == 0:
        return f"The {_ORDINALS[number]} bin from the left"
    return f"Bin number {BINS - number} counted from the right"


def say_speed(factor: float, version: int = 0) -> str:
    """An option that names a speed as a multiple of the one in the clip."""
    return SPEEDS[factor] if version == 0 else f"At {round(100 * factor)}% of the speed in the clip"


def say_direction(direction: tuple[int, int], version: int = 0) -> str:
    """An option that names one of eight directions in the picture (x to the right, y downwards)."""
    return DIRECTIONS[direction][version]


def read_objects(text: str) -> list[str]:
    """The objects that a text names, in order, as in `red ball`."""
    found = [(match.start(), f"{match[1]} {match[2]}".lower()) for match in _OBJECT.finditer(text)]
    shapes = {word: shape for shape, word in _SHAPES.items()}
    found += [(m.start(), f"{m[2].lower()} {shapes[m[1].lower()]}") for m in _REWORDED_OBJECT.finditer(text)]
    return [name for _, name in sorted(found)]


def read_bin(text: str) -> int | None:
    """The bin that a text names, from 0 at the left."""
    if match := _BIN.search(text):
        return _ORDINALS.index(match[1].lower())
    if match := _REWORDED_BIN.search(text):
        return BINS - int(match[1])
    return None


def read_speed(text: str) -> float | None:
    """The multiple of the clip's speed that a text names; the longest wording that fits counts."""
    if match := _PERCENT.search(text):
        return int(match[1]) / 100
    low = text.lower()
    fits = [(len(words), factor) for factor, words in SPEEDS.items() if words.lower() in low]
    return max(fits)[1] if fits else None


def read_direction(text: str) -> tuple[int, int] | None:
    """The direction that an option names."""
    for direction, wordings in DIRECTIONS.items():
        if text.strip().rstrip(".") in wordings:
            return direction
    return None
