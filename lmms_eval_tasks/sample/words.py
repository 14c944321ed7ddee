"""The words of questions and options: objects by colour and shape."""

from __future__ import annotations

import random
import re

from lmms_eval_tasks.sample.drawn_clips import COLOURS, SHAPES, DrawnQuestion, DrawnScene

OBJECTS = tuple(f"{colour} {shape}" for colour in COLOURS for shape in SHAPES)
_OBJECT = re.compile("|".join(OBJECTS))


def read_objects(text: str) -> list[str]:
    """The objects that a text names, in order, as in `red ball`."""
    return _OBJECT.findall(text.lower())


def meaning(option: str) -> object:
    """What options of other wordings have in common."""
    return tuple(read_objects(option)) or option.strip(" .").casefold()


def reworded(text: str) -> str:
    """An option in its other wording, `The red ball` or `It is the red ball`; any other text as it is."""
    names = read_objects(text)
    if len(names) != 1:
        return text
    return f"It is the {names[0]}" if text == f"The {names[0]}" else f"The {names[0]}"


def draw_options(rng: random.Random, scene: DrawnScene, asked: DrawnQuestion, count: int, place: int) -> list[str]:
    """Objects with the right one at a place; wrong ones are present where they can be, and of no colour asked about."""
    colours = {name.split()[0] for name in read_objects(asked.text)}
    wrong = [name for name in OBJECTS if name != asked.answer and name.split()[0] not in colours]
    rng.shuffle(wrong)
    present = {body.name for body in scene.bodies}
    wrong = sorted(wrong, key=lambda name: name not in present)[: count - 1]
    rng.shuffle(wrong)
    wrong.insert(place, asked.answer)
    return [f"The {name}" for name in wrong]
