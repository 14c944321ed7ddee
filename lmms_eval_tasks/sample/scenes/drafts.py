"""A question drafted over a scene, and the making of its five options in two versions."""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.sample.world.bodies import SHAPES
from lmms_eval_tasks.sample.world.scene import COLOURS, Scene

OPTIONS = 5


@dataclass(frozen=True)
class Draft:
    """A question about a scene with its true answer, before options are drawn.

    `lures` are wrong answers that a careless viewer would give and that every version offers; `others` are further
    wrong answers, the better ones first. `word(answer, version)` words an answer.
    """

    question: str
    scene: Scene
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


def other_objects(rng: random.Random, scene: Scene, exclude: Sequence[str], options: int = OPTIONS) -> tuple[str, ...]:
    """Names of the scene's objects in random order, without `exclude`, then of others that are not in the scene.

    They are enough for a question with that many options, and at least two are not in the scene.
    """
    present = [scene.called(name) for name in scene.skins]
    wrong = [name for name in present if name not in exclude]
    names = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
    absent = [name for name in names if name not in present]
    rng.shuffle(wrong)
    rng.shuffle(absent)
    return (*wrong, *absent[: max(2, options - 1 - len(wrong))])
