"""The words of questions and options, and what they mean: objects by colour and shape, and directions."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from lmms_eval_tasks.sample.drawn_clips import COLOURS, SHAPES

DIRECTIONS: dict[complex, tuple[str, str]] = {
    -1j: ("Straight up", "Towards the top edge"),
    1 - 1j: ("Up and to the right", "Towards the top right"),
    1: ("Straight to the right", "Towards the right edge"),
    1 + 1j: ("Down and to the right", "Towards the bottom right"),
    1j: ("Straight down", "Towards the bottom edge"),
    -1 + 1j: ("Down and to the left", "Towards the bottom left"),
    -1: ("Straight to the left", "Towards the left edge"),
    -1 - 1j: ("Up and to the left", "Towards the top left"),
}
"""Steps in the picture (x to the right, 1j downwards) to their two wordings."""
_SHAPES = {"round": "ball", "square": "block"}
_OBJECT = re.compile(rf"({'|'.join(COLOURS)}) (ball|block)|(round|square) ({'|'.join(COLOURS)}) one", re.IGNORECASE)


def read_objects(text: str) -> list[str]:
    """The objects that a text names, in order, as in `red ball`."""
    found = [match.groups() for match in _OBJECT.finditer(text.lower())]
    return [f"{colour} {shape}" if colour else f"{other} {_SHAPES[word]}" for colour, shape, word, other in found]


def read_direction(text: str) -> complex | None:
    """The direction that an option names; None when it names none."""
    return next((way for way, wordings in DIRECTIONS.items() if text.strip(" .") in wordings), None)


def meaning(option: str) -> object:
    """What options of other wordings have in common."""
    return tuple(read_objects(option)) or read_direction(option) or option.strip(" .").casefold()


def reworded(text: str) -> str:
    """An option in its other wording; any other text as it is."""
    if (way := read_direction(text)) is not None:
        return DIRECTIONS[way][text == DIRECTIONS[way][0]]
    names = read_objects(text)
    if len(names) != 1:
        return text
    (colour, shape), words = names[0].split(), {shape: word for word, shape in _SHAPES.items()}
    return f"The {words[shape]} {colour} one" if text == f"The {names[0]}" else f"The {names[0]}"


def draw_options(
    rng: random.Random, present: Sequence[str], question: str, answer: str, count: int, place: int
) -> list[str]:
    """Options with the right one at a place: directions, or objects, those present that are not asked about first."""
    objects = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    if read_direction(answer) is not None:
        wrong = [wordings[0] for wordings in DIRECTIONS.values() if wordings[0] != answer]
        rng.shuffle(wrong)
    else:
        wrong = [name for name in objects if name not in (*read_objects(question), answer)]
        rng.shuffle(wrong)
        wrong.sort(key=lambda name: name not in present)
    wrong = wrong[: count - 1]
    rng.shuffle(wrong)
    wrong.insert(place, answer)
    return [f"The {option}" if option in objects else option for option in wrong]
