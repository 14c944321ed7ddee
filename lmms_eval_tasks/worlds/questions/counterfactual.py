"""Would something have happened had one body been otherwise: the answer is yes or no."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.worlds.engine.facts import EventKey, Facts
from lmms_eval_tasks.worlds.questions import wording
from lmms_eval_tasks.worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_tasks.worlds.questions.drafting import sample
from lmms_eval_tasks.worlds.questions.seen_graph import answer_of_seen_graph
from lmms_eval_tasks.worlds.questions.sketch import Balance
from lmms_eval_tasks.worlds.questions.traits import body_traits, event_traits

LEVELS = ("direct", "chain", "absent")
MOST_PAIRS = 2
"""Pairs that a scene has at most in each level."""
WINDOW = 24
"""Pairs that are looked at to choose the next one."""
SHAPES = (
    "{Change}, {would}?",
    "{Would} {change}?",
    "Think of how things would have gone {change}. {Would}?",
)


@dataclass(frozen=True)
class Supposition:
    """A change of one body, an event, and whether it would have happened.

    Attributes:
        facts: Of the scene.
        kind: What is changed, as in `Intervention.kind`.
        body: The body that is changed.
        key: The event, of other bodies.
        level: `absent` where the event does not happen in the clip; else `direct` where the changed body hits one of
            the event's, or is hit by it; else `chain`.
        verdict: `YES` or `NO`.
        seen: What the graph of what was seen answers.
    """

    facts: Facts
    kind: str
    body: str
    key: EventKey
    level: str
    verdict: str
    seen: str

    @property
    def cell(self) -> tuple[str, str, str]:
        """Among those of one cell, the answers are balanced."""
        return (self.level, self.kind, self.key.kind)

    @property
    def marked(self) -> bool:
        """Whether the graph of what was seen is wrong."""
        return self.seen != self.verdict

    def text(self, number: int) -> str:
        """The question in one of its wordings."""
        changed = wording.change(self.kind, self.body, number)
        would = wording.would_have(self.key, still=self.level != "absent")
        shape = SHAPES[number // len(wording.CHANGES[self.kind])]
        named = {"Change": wording.sentence(changed, ""), "Would": wording.sentence(would, "")}
        return shape.format(change=changed, would=would, **named)

    def lean(self) -> dict[str, float]:
        """For what can be read in it, 1 where the answer is yes and -1 where it is no."""
        sign = 1.0 if self.verdict == YES else -1.0
        read = [f"changed {trait}" for trait in body_traits(self.facts, self.body)]
        read += [f"outcome {trait}" for trait in event_traits(self.facts, self.key)]
        return {f"{self.cell[0]}/{self.kind}/{trait}": sign for trait in read}


WORDINGS = len(SHAPES) * len(wording.CHANGES["remove"])


def suppositions(scene: Askable) -> list[Supposition]:
    """All that can be asked of a scene, in a fixed order; nothing that is unsure, and no event of the changed body."""
    facts = scene.facts
    seen = {event.key for event in scene.happened(PHYSICAL)}
    found = []
    for world, says in scene.worlds:
        (body,), kind = world.intervention.bodies, world.intervention.kind
        for verdict, keys in zip((YES, NO), scene.outcomes(world, says), strict=True):
            for key in keys:
                level = "absent" if key not in seen else "direct" if scene.touches(body, key) else "chain"
                graph = answer_of_seen_graph(facts, body, key)
                found.append(Supposition(facts, kind, body, key, level, verdict, graph))
    return found


def supposition_pairs(
    scenes: Sequence[Askable], rng: np.random.Generator
) -> list[tuple[tuple[Supposition, Supposition], int]]:
    """Pairs of suppositions of one scene and one cell with opposite answers, each pair with the wording of both.

    So the answers are balanced in each level, kind of change, kind of event, wording and scene. What else can be read,
    shapes and colours, is balanced by the choice of pairs. Half of a scene's pairs have one that the graph of what was
    seen gets wrong, where there are any.
    """
    chosen: list[tuple[tuple[Supposition, Supposition], int]] = []
    pools: dict[str, list[tuple[Supposition, Supposition]]] = {level: [] for level in LEVELS}
    for scene in scenes:
        for level, pairs in _pairs(suppositions(scene), rng).items():
            pools[level] += pairs
    for level in LEVELS:
        taken: defaultdict[str, list[Supposition]] = defaultdict(list)
        balance, left = Balance(), list(sample(rng, pools[level], len(pools[level])))
        numbers: defaultdict[tuple[str, str, str], Iterator[int]] = defaultdict(lambda: _numbers(rng))
        rejected = 0
        while left and rejected < WINDOW * 4:
            window: list[tuple[Supposition, Supposition]] = []
            while left and len(window) < WINDOW:
                if _is_free(pair := left.pop(), taken[pair[0].facts.scene.id]):
                    window.append(pair)
            place = balance.choose([_sum(pair) for pair in window])
            if place is None:
                rejected += WINDOW
                left = [*window, *left]
                continue
            rejected = 0
            pair = window.pop(place)
            chosen.append((pair, next(numbers[pair[0].cell])))
            taken[pair[0].facts.scene.id] += pair
            left += window
    return chosen


def _pairs(found: Sequence[Supposition], rng: np.random.Generator) -> dict[str, list[tuple[Supposition, Supposition]]]:
    """Pairs of one cell with opposite answers; of each level some, those that share a body or an event first."""
    cells: defaultdict[tuple[str, str, str], dict[str, list[Supposition]]] = defaultdict(lambda: {YES: [], NO: []})
    for one in found:
        cells[one.cell][one.verdict].append(one)
    pairs: dict[str, list[tuple[Supposition, Supposition]]] = {level: [] for level in LEVELS}
    for (level, _, _), answers in sorted(cells.items()):
        every = [(yes, no) for yes in answers[YES] for no in answers[NO]]
        drawn = sample(rng, every, len(every))
        pairs[level] += sorted(drawn, key=lambda pair: -_worth(pair))[: 4 * MOST_PAIRS]
    return pairs


def _worth(pair: tuple[Supposition, Supposition]) -> int:
    yes, no = pair
    return 2 * (yes.marked or no.marked) + (yes.key == no.key) + (yes.body == no.body)


def _sum(pair: Iterable[Supposition]) -> dict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for one in pair:
        for trait, step in one.lean().items():
            sums[trait] += step
    return dict(sums)


def _is_free(pair: tuple[Supposition, Supposition], taken: Sequence[Supposition]) -> bool:
    """Whether a pair asks nothing that was asked of its scene, and the scene may have more."""
    return len(taken) < 2 * MOST_PAIRS and not any(one is other for one in pair for other in taken)


def _numbers(rng: np.random.Generator) -> Iterator[int]:
    """Wordings in turn, each round in another order."""
    while True:
        yield from map(int, rng.permutation(WORDINGS))
