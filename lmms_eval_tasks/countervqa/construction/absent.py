"""Actions that a clip does not show and that its task might have: those of other clips of the same task.

Of these the nearest to the clip's own actions are taken, as far as they are not such an action in other words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from lmms_eval_tasks.countervqa.construction.annotations import Take
from lmms_eval_tasks.utils.graphs.encoders import EncodedTexts

SAME = 0.85
"""From this cosine similarity on, two descriptions may be of one action. Ours."""
POOL = 200
"""Descriptions that are looked at for one clip, drawn from those of its task."""


def same_words(text: str) -> str:
    """What two descriptions have in common if they differ in case, punctuation or order of words alone."""
    return " ".join(sorted(re.findall(r"\w+", text.casefold())))


class AbsentActions:
    """Finds absent actions for clips.

    Args:
        takes: All annotated takes; those of one task lend each other their descriptions.
        encoded: Their texts.
        seed: Of the draw from large tasks.
    """

    def __init__(self, takes: Sequence[Take], encoded: EncodedTexts, seed: int) -> None:
        self._encoded = encoded
        self._seed = seed
        self._texts: dict[str, dict[str, None]] = {}
        for take in takes:
            if take.task:
                self._texts.setdefault(take.task, {}).update(dict.fromkeys(action.text for action in take.actions))

    def find(self, take: Take, number: int) -> list[tuple[str, str]]:
        """Absent actions in words, the nearest first, each with the id of the clip's action that it is nearest to."""
        own = {action.text: action.id for action in reversed(take.actions)}
        known = set(map(same_words, own))
        pool = [text for text in self._texts.get(take.task, ()) if text not in own and same_words(text) not in known]
        if not pool or not own:
            return []
        if len(pool) > POOL:
            pool = random.Random(f"{self._seed} {take.uid} absent").sample(pool, POOL)
        texts = list(own)
        similarities = self._encoded.similarities(pool, texts)
        nearest, closeness = similarities.argmax(axis=1), similarities.max(axis=1)
        # Rounded, so that the last bits of a sum of products do not decide.
        order = sorted(range(len(pool)), key=lambda place: (-round(float(closeness[place]), 6), pool[place]))
        absent: dict[str, tuple[str, str]] = {}
        for place in order:
            if closeness[place] < SAME:
                absent.setdefault(same_words(pool[place]), (pool[place], own[texts[nearest[place]]]))
        return list(absent.values())[:number]
