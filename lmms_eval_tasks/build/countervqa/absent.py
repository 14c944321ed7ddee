"""Actions that a clip does not show and that its task might have: those of other clips of the same task."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.graphs.encoders import EncodedTexts

SAME = 0.85
"""From this cosine similarity on, two descriptions may be of one action. Ours."""
NEAR = 0.3
"""From this cosine similarity on, an action is near enough to seem to depend on another. Ours."""
POOL = 200
"""Descriptions that are looked at for one clip, drawn from those of its task."""


def same_words(text: str) -> str:
    """Return a key shared by descriptions that differ only in case, punctuation or order of words."""
    return " ".join(sorted(re.findall(r"\w+", text.casefold())))


@dataclass(frozen=True)
class AbsentAction:
    """An action that never happened."""

    text: str
    outcome: str | None


@dataclass(frozen=True)
class AbsentIdeas:
    """Ideas from which questions of level 3 are made."""

    goal: str = ""
    actions: tuple[AbsentAction, ...] = ()


class AbsentActions:
    """Finds absent actions for clips."""

    def __init__(self, takes: Sequence[Take], encoded: EncodedTexts, seed: int) -> None:
        self._encoded = encoded
        self._seed = seed
        self._texts: dict[str, dict[str, None]] = {}
        for take in takes:
            if take.task:
                self._texts.setdefault(take.task, {}).update(dict.fromkeys(action.text for action in take.actions))

    def find(self, take: Take, number: int) -> AbsentIdeas:
        """Absent actions of a clip, the nearest first."""
        own = {action.text: action.id for action in reversed(take.actions)}
        known = set(map(same_words, own))
        pool = [text for text in self._texts.get(take.task, ()) if text not in own and same_words(text) not in known]
        goal = take.goal or take.task
        if not pool or not own:
            return AbsentIdeas(goal)
        if len(pool) > POOL:
            pool = random.Random(f"{self._seed} {take.uid} absent").sample(pool, POOL)
        texts = list(own)
        # Rounded, so that the last bits of a sum of products do not decide.
        similarities = self._encoded.similarities(pool, texts).round(6)
        closeness = similarities.max(axis=1)
        absent: dict[str, AbsentAction] = {}
        for place in sorted(range(len(pool)), key=lambda place: (-float(closeness[place]), pool[place])):
            if closeness[place] < SAME:
                nearest = np.flatnonzero(similarities[place] == closeness[place])
                is_clear = closeness[place] >= NEAR and len(nearest) == 1
                outcome = own[texts[nearest[0]]] if is_clear else None
                absent.setdefault(same_words(pool[place]), AbsentAction(pool[place], outcome))
        return AbsentIdeas(goal, tuple(absent.values())[:number])
