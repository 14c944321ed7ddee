"""Questions drafted over a scene, and their options: how these are drawn, worded and read."""

import random
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.sample.world.bodies import SHAPES
from lmms_eval_tasks.sample.world.scene import COLOURS, DrawnScene

OPTIONS = 5
_SHAPES = {"ball": "round", "block": "square"}

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
"""Steps in the picture (x to the right, y downwards) to their two wordings."""

_OBJECT = re.compile(rf"({'|'.join(COLOURS)}) (ball|block)", re.IGNORECASE)
_REWORDED_OBJECT = re.compile(rf"(round|square) ({'|'.join(COLOURS)}) one", re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """A question about a scene with its true answer, before options are drawn."""

    question: str
    scene: DrawnScene
    answer: Hashable
    lures: tuple[Hashable, ...]
    others: tuple[Hashable, ...]
    word: Callable[[Any, int], str]


def draw_options(rng: random.Random, draft: Draft, version: int, position: int) -> list[str]:
    """Five worded options of one version with the true one at `position` (from 0)."""
    others = list(draft.others)
    if version == 1:
        rng.shuffle(others)
    answers = [*draft.lures, *others][: OPTIONS - 1]
    rng.shuffle(answers)
    answers.insert(position, draft.answer)
    return [draft.word(answer, version) for answer in answers]


def other_objects(
    rng: random.Random, scene: DrawnScene, exclude: Sequence[str], options: int = OPTIONS
) -> tuple[str, ...]:
    """Names of the scene's objects in random order, without `exclude`, then of others that are not in the scene."""
    present = [scene.called(name) for name in scene.skins]
    wrong = [name for name in present if name not in exclude]
    names = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    absent = [name for name in names if name not in present]
    rng.shuffle(wrong)
    rng.shuffle(absent)
    return (*wrong, *absent[: max(2, options - 1 - len(wrong))])


def reworded(text: str) -> str:
    """An option in its other wording; any other text as it is."""
    if (direction := read_direction(text)) is not None:
        return DIRECTIONS[direction][text == DIRECTIONS[direction][0]]
    name = read_object(text)
    return word_object(name, 1 if text == word_object(name, 0) else 0) if name else text


def word_object(name: str, version: int) -> str:
    """An option that names an object such as `red ball`."""
    colour, shape = name.split()
    return f"The {name}" if version == 0 else f"The {_SHAPES[shape]} {colour} one"


def read_objects(text: str) -> list[str]:
    """The objects that a text names, in order, as in `red ball`."""
    named = [(match.start(), f"{match[1]} {match[2]}".lower()) for match in _OBJECT.finditer(text)]
    shapes = {word: shape for shape, word in _SHAPES.items()}
    named += [(m.start(), f"{m[2].lower()} {shapes[m[1].lower()]}") for m in _REWORDED_OBJECT.finditer(text)]
    return [name for _, name in sorted(named)]


def read_object(text: str) -> str | None:
    """The one object that a text names; None when it names none or several."""
    names = read_objects(text)
    return names[0] if len(names) == 1 else None


def read_direction(text: str) -> tuple[int, int] | None:
    """The direction that an option names; None when it names none."""
    read = {wording: direction for direction, wordings in DIRECTIONS.items() for wording in wordings}
    return read.get(text.strip().rstrip("."))
