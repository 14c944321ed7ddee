"""Would something have happened had one body been otherwise: the answer is yes or no."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_worlds.questions.balance import Balance, Deck, sample
from lmms_eval_worlds.questions.cause_and_effect import answer_of_seen_graph
from lmms_eval_worlds.questions.question import QuestionGroup, body_traits, event_traits
from lmms_eval_worlds.scenes.scene import EventKey, Facts

LEVELS = ("direct", "chain", "absent")
MOST = 4
"""Questions that a scene has in each level, from which it gets no more."""
MOST_REJECTED = 4
"""How often a few pairs are looked at in vain before a level is done."""
WINDOW = 24
"""Pairs that are looked at to choose the next one."""
SHAPES = (
    "{Change}, {would}?",
    "{Would} {change}?",
    "Think of how things would have gone {change}. {Would}?",
)


@dataclass(frozen=True)
class Supposition:
    """A change of one body, an event, and whether it would have happened."""

    facts: Facts
    kind: str
    bodies: tuple[str, ...]
    key: EventKey
    level: str
    verdict: str
    seen: str

    @property
    def cell(self) -> tuple[str, str, str]:
        """Among those of one cell, the answers are balanced."""
        return (self.level, f"{self.kind} {len(self.bodies)}", self.key.kind)

    @property
    def marked(self) -> bool:
        return self.seen != self.verdict

    def question_fields(self, number: int) -> dict[str, Any]:
        """The fields of its question in a wording."""
        return {
            "level": self.level,
            "question": self.text(number),
            "wording": number,
            "answer": self.verdict,
            "intervention": self.kind,
            "changed": " and ".join(self.bodies),
            "outcome": list(self.key),
            "about": [list(self.key)],
            "seen": self.seen,
            "marked": self.marked,
        }

    def text(self, number: int) -> str:
        changed = wording.change(self.kind, " and the ".join(self.bodies), number)
        would = (wording.would_have if self.level == "absent" else wording.would_still_have)(self.key)
        shape = SHAPES[number // len(wording.CHANGES[self.kind])]
        named = {"Change": wording.sentence(changed, ""), "Would": wording.sentence(would, "")}
        return shape.format(change=changed, would=would, **named)

    def lean(self) -> dict[str, float]:
        """Return the traits that can be read in the question, with 1 if the answer is yes and -1 if it is no."""
        sign = 1.0 if self.verdict == YES else -1.0
        read = [f"changed {trait}" for body in self.bodies for trait in body_traits(self.facts, body)]
        read += [f"outcome {trait}" for trait in event_traits(self.facts, self.key)]
        shapes = " ".join(sorted(self.facts.scene.body(one).shape for one in (self.key.body, self.key.other) if one))
        read += [f"{self.facts.scene.body(body).shape} changed, {self.key.kind} {shapes}" for body in self.bodies]
        return {f"{self.level}/{self.cell[1]}/{trait}": sign for trait in read}


SuppositionPair = tuple[Supposition, Supposition]
"""One whose answer is yes, and one whose answer is no."""
WORDINGS = len(SHAPES) * len(wording.CHANGES["remove"])


def suppositions(scene: Askable) -> list[Supposition]:
    """All that can be asked of a scene, in a fixed order; nothing that is unsure, and no event of the changed body."""
    facts = scene.facts
    seen = {event.key for event in scene.happened(PHYSICAL)}
    found = []
    for world, says in scene.worlds:
        bodies, kind = tuple(world.intervention.bodies), world.intervention.kind
        if len(bodies) > 1 and kind != "remove":
            continue  # there are no words for it
        for verdict, keys in zip((YES, NO), scene.outcomes(world, says), strict=True):
            for key in keys:
                level = "absent" if key not in seen else "direct" if scene.touches(bodies, key) else "chain"
                graph = answer_of_seen_graph(facts, bodies, key)
                found.append(Supposition(facts, kind, bodies, key, level, verdict, graph))
    return found


def supposition_groups(scenes: Sequence[Askable], rng: np.random.Generator, deck: Deck) -> Iterator[QuestionGroup]:
    """Pairs of suppositions of one cell with opposite answers, each pair in one wording; a group where both are of one
    scene."""
    choosing = _Choosing(rng)
    found = [suppositions(scene) for scene in scenes]
    for level in LEVELS:
        within = [_within([one for one in own if one.level == level], rng) for own in found]
        choosing.choose(level, [pair for pairs in within for pair in pairs])
        free = [one for own in found for one in own if one.level == level and choosing.is_free(one)]
        choosing.choose(level, _across(free, rng))
    for pair, number in choosing.chosen:
        both = [
            QuestionGroup(one.facts, "counterfactual", one.key.kind, [one.question_fields(number)])
            for one in (pair if rng.random() < 0.5 else pair[::-1])
        ]
        if pair[0].facts is pair[1].facts:
            yield both[0]._replace(members=[*both[0].members, *both[1].members])
        else:
            yield from both


class _Choosing:
    """Pairs that have been chosen so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.chosen: list[tuple[SuppositionPair, int]] = []
        self._rng = rng
        self._taken: defaultdict[tuple[str, str], list[Supposition]] = defaultdict(list)
        self._balances: defaultdict[str, Balance] = defaultdict(Balance)
        self._numbers: defaultdict[tuple[str, str, str], Iterator[int]] = defaultdict(lambda: _numbers(rng))

    def is_free(self, one: Supposition) -> bool:
        """Whether it has not been asked, and its scene may have more of its level."""
        taken = self._taken[one.facts.scene.id, one.level]
        return len(taken) < MOST and not any(one is other for other in taken)

    def choose(self, level: str, pool: Sequence[SuppositionPair]) -> None:
        """Take pairs of a level, each time the one of a few that keeps the set balanced best."""
        left, rejected = list(sample(self._rng, pool, len(pool))), 0
        while left and rejected < MOST_REJECTED:
            window: list[SuppositionPair] = []
            while left and len(window) < WINDOW:
                if all(map(self.is_free, pair := left.pop())):
                    window.append(pair)
            place = self._balances[level].choose([_sum(pair) for pair in window])
            if place is None:
                rejected += 1
                left = [*window, *left]
                continue
            rejected = 0
            pair = window.pop(place)
            self.chosen.append((pair, next(self._numbers[pair[0].cell])))
            for one in pair:
                self._taken[one.facts.scene.id, level].append(one)
            left += window


def _across(free: Sequence[Supposition], rng: np.random.Generator) -> list[SuppositionPair]:
    """Pairs of one cell with opposite answers of two alike scenes; those that the graph gets wrong each several
    times."""
    pairs: list[SuppositionPair] = []
    for answers in _by_cell(free):
        few, many = sorted(answers.values(), key=len)
        for one in few if many else []:
            others = sample(rng, many, 8 if one.marked else 4)
            pairs += [(one, other) if one.verdict == YES else (other, one) for other in others]
    return [(yes, no) for yes, no in pairs if yes.facts is not no.facts]


def _within(found: Sequence[Supposition], rng: np.random.Generator) -> list[SuppositionPair]:
    """Pairs of one scene and cell with opposite answers: some of each cell, those that share a body or an event
    first."""
    pairs: list[SuppositionPair] = []
    for answers in _by_cell(found):
        every = list(product(answers[YES], answers[NO]))
        pairs += sorted(sample(rng, every, len(every)), key=lambda pair: -_worth(pair))[: 2 * MOST]
    return pairs


def _by_cell(found: Iterable[Supposition]) -> list[dict[str, list[Supposition]]]:
    """Those of a family and a cell, by their answers."""
    cells: defaultdict[tuple[str, ...], dict[str, list[Supposition]]] = defaultdict(lambda: {YES: [], NO: []})
    for one in found:
        cell = (one.facts.scene.family, *one.cell)
        cells[cell][one.verdict].append(one)
    return [answers for _, answers in sorted(cells.items())]


def _worth(pair: SuppositionPair) -> int:
    yes, no = pair
    return 2 * (yes.marked or no.marked) + (yes.key == no.key) + (yes.bodies == no.bodies)


def _sum(pair: Iterable[Supposition]) -> dict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for one in pair:
        for trait, step in one.lean().items():
            sums[trait] += step
    return dict(sums)


def _numbers(rng: np.random.Generator) -> Iterator[int]:
    """Wordings in turn, each round in another order."""
    while True:
        yield from map(int, rng.permutation(WORDINGS))
